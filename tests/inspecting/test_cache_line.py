"""What a model keeps between tokens, on the first screen: memory's own number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hfinspect

from ..analysis.test_gguf_models import NUMBERS, Q4_0, gguf, llama, write
from ..cli.program import ROOT
from ..cli.program import hfinspect as program

MODELS = ROOT / "fixtures" / "models"
DECODERS = ["deepseek-v3", "gpt2", "llama-3-8b", "mixtral-8x7b"]


@pytest.mark.parametrize("name", DECODERS)
def test_inspect_and_memory_have_one_number(name: str) -> None:
    target = str(MODELS / name)
    inspection = hfinspect.inspect(target)
    sized = hfinspect.memory(target)
    assert inspection.cache == sized.cache is not None
    assert inspection.cache_unknown == sized.cache_unknown == ""
    assert inspection.to_dict()["cache"] == sized.to_dict()["at"][-1]["cache"]


def test_the_first_screen_has_a_line() -> None:
    out = program(MODELS / "llama-3-8b").out
    assert "cache       131 kB per token; 1.07 GB at 8,192 tokens" in out


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (
            {
                "model_type": "gpt_oss",
                "num_hidden_layers": 24,
                "num_key_value_heads": 8,
                "head_dim": 64,
                "sliding_window": 128,
                "dtype": "bfloat16",
                "max_position_embeddings": 131072,
                "vocab_size": 100,
                "num_local_experts": 2,
            },
            "49.2 kB per token, 24.6 kB past 127 tokens; 3.22 GB at 131,072 tokens (BF16, batch 1)",
        ),
        (
            {
                "model_type": "mamba",
                "hidden_size": 64,
                "num_hidden_layers": 2,
                "state_size": 16,
                "vocab_size": 100,
                "dtype": "float32",
            },
            "19.5 kB per sequence of any length (F32, batch 1)",
        ),
        (
            {
                "model_type": "t5",
                "dtype": "float32",
                "n_positions": 512,
                "architectures": ["T5ForConditionalGeneration"],
            },
            (
                "24.6 kB per token, 12.6 MB per sequence for 512 of the encoder's; "
                "25.2 MB at 512 tokens"
            ),
        ),
        (
            {
                "model_type": "whisper",
                "dtype": "float16",
                "architectures": ["WhisperForConditionalGeneration"],
            },
            "6.14 kB per token, 9.22 MB per sequence for 1,500 of the encoder's; 12.0 MB at 448",
        ),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)
def test_what_does_not_grow_is_said(config: dict[str, Any], line: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    out = " ".join(program(tmp_path, "-f", "markdown").out.replace("\\", "").split())
    assert line in out


def test_an_encoder_has_no_line_and_its_reason() -> None:
    inspection = hfinspect.inspect(str(MODELS / "bert-base-uncased"))
    assert inspection.cache is None
    assert inspection.cache_unknown == "an encoder keeps nothing between tokens"
    assert "\ncache" not in program(MODELS / "bert-base-uncased").out


def test_an_unknown_layout_refuses_the_cache_and_keeps_the_weights() -> None:
    inspection = hfinspect.inspect({"model_type": "xlnet", "architectures": ["XLNetLMHeadModel"]})
    assert inspection.cache is None
    assert inspection.parameters
    assert "hidden states" in inspection.cache_unknown


def test_a_gguf_keeps_what_its_key_values_say(tmp_path: Path) -> None:
    """Its cache is in float16, which is llama.cpp's default, whatever its weights are in."""
    inspection = write(tmp_path, gguf(llama(), Q4_0, numbers=NUMBERS))
    assert inspection.cache is not None
    width = NUMBERS["attention.head_count_kv"] * NUMBERS["embedding_length"]
    width //= NUMBERS["attention.head_count"]
    assert inspection.cache.per_token == 2 * NUMBERS["block_count"] * width * 2
    assert inspection.cache.tokens == NUMBERS["context_length"]
    assert (inspection.cache.dtype, inspection.cache.assumed) == ("F16", "llama.cpp's default")
    assert hfinspect.memory(tmp_path).cache == inspection.cache


def test_key_values_that_say_too_little_are_a_reason(tmp_path: Path) -> None:
    inspection = write(tmp_path, gguf(llama(), Q4_0))
    assert inspection.cache is None
    assert "key-values" in inspection.cache_unknown


def test_compare_and_scan_have_the_same_number(tmp_path: Path) -> None:
    names = ["llama-3-8b", "deepseek-v3"]
    caches = [hfinspect.inspect(str(MODELS / name)).cache for name in names]
    sizes = [cache.nbytes for cache in caches if cache is not None]
    out = program("compare", *(MODELS / name for name in names), "-f", "csv").out
    assert f"cache_nbytes,{sizes[0]},{sizes[1]}" in out
    shown = program("compare", *(MODELS / name for name in names)).out
    assert "1.07 GB at 8,192 (BF16)" in shown
    listed = tmp_path / "models.txt"
    listed.write_text("".join(f"{MODELS / name}\n" for name in names))
    rows = program("scan", listed, "--columns", "cache_nbytes", "-f", "csv", "-q").out.splitlines()
    assert [int(row.rsplit(",", 1)[1]) for row in rows[1:]] == sizes
