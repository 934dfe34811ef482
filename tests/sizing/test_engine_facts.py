"""What engines say in their logs, read in their source, and what papers print.

The facts, with their sources, are fixtures/oracle/engine_facts.json; the rows of one number each.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import hfinspect

from ..cli.program import hfinspect as program
from .truths import FACTS, fact

CONFIGS: dict[str, dict[str, Any]] = FACTS["configs"]
ROWS: list[dict[str, Any]] = FACTS["rows"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_fact_holds_within_its_tolerance(row: dict[str, Any]) -> None:
    value = fact(row)
    assert value is not None
    assert abs(value - row["value"]) <= row["tolerance"] * row["value"]


@pytest.mark.parametrize("row", ROWS[:3], ids=lambda row: row["id"])
def test_the_command_line_reaches_the_same(row: dict[str, Any], tmp_path: Any) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIGS[row["config"]]))
    names = {"cache_dtype": "kv-dtype", "tensor_parallel": "tp"}
    options = [
        text
        for key, value in row["asked"].items()
        for text in (f"--{names.get(key, key.replace('_', '-'))}", str(value))
    ]
    done = program("memory", tmp_path, *options, "-f", "json")
    memory = hfinspect.memory(CONFIGS[row["config"]], **row["asked"])
    assert memory.cache is not None
    assert json.loads(done.out)["at"][-1]["cache"] == memory.cache.to_dict()


@pytest.mark.parametrize(
    ("model", "positions"),
    [("moonshine", 40), ("speecht5", 49), ("speech_to_text", 32)],
)
def test_positions_of_sound(model: str, positions: int) -> None:
    """``encoder_tokens`` are what the encoder gives out, after its convolutions without padding: of
    16,000 samples (one second), or of 128 frames padded at both sides."""
    kernels = {
        "moonshine": [(127, 64), (7, 3), (3, 2)],
        "speecht5": [(10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2)],
        "speech_to_text": [(1, 2), (1, 2)],
    }
    length = 128 if model == "speech_to_text" else 16_000
    for kernel, stride in kernels[model]:
        length = (length - kernel) // stride + 1
    assert length == positions
    fact = FACTS["sound"][model]
    config = {"model_type": model, "architectures": [fact["class"]], **fact["config"]}
    memory = hfinspect.memory(
        config, context=128, engine="transformers", cache_dtype="bf16", encoder_tokens=positions
    )
    assert memory.cache is not None
    assert memory.cache.kv_bytes == fact["kv_bytes"]


def test_whisper_hears_thirty_seconds() -> None:
    config = {"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"]}
    memory = hfinspect.memory({**config, "dtype": "float16"}, context=448)
    assert memory.cache is not None
    assert memory.cache.encoder_tokens == 1500
    assert memory.cache.fixed == 4 * 2 * 384 * 1500 * 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"engine": "llama.cpp", "cache_dtype": "fp8"},
        {"engine": "vllm", "cache_dtype": "q8_0"},
        {"engine": "transformers", "cache_dtype": "nvfp4"},
        {"step_tokens": 512},
        {"engine": "vllm", "cache_dtype": "fp8_ds_mla"},
        {"engine": "vllm", "step_tokens": 0},
    ],
)
def test_an_engine_says_what_it_cannot(wrong: dict[str, Any]) -> None:
    with pytest.raises(hfinspect.errors.UsageError):
        hfinspect.memory(CONFIGS["llama-3.1-8b"], **wrong)
