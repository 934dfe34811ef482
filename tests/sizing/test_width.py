"""Weights at another width than they are stored in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.errors import UsageError

from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from .test_offload import LAYER, OUTPUT, TABLE, _file

MODELS = ROOT / "fixtures" / "models"
LLAMA = str(MODELS / "llama-3-8b")
CONFIG: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 96, "vocab_size": 128,
    "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
    "dtype": "bfloat16", "architectures": ["LlamaForCausalLM"], "tie_word_embeddings": False,
}  # fmt: skip
#: Of a layer: queries and output 64², keys and values 64 · 32, three of 64 · 96.
MATRICES = 2 * 128 * 64 + 4 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96)
NORMS = (4 * 2 + 1) * 64


def _nbytes(target: Any, width: str) -> int | None:
    return hfinspect.memory(target, width=width, context=64).weights.nbytes


@pytest.mark.parametrize(("width", "bits"), [("fp32", 32), ("bf16", 16), ("fp8", 8), ("int4", 4)])
def test_whole_bits_a_parameter(width: str, bits: int) -> None:
    assert _nbytes(LLAMA, width) == 8_030_261_248 * bits // 8
    assert _nbytes(CONFIG, width) == (MATRICES + NORMS) * bits // 8


def test_blocks_are_those_of_a_file(tmp_path: Path) -> None:
    """The config of the made GGUF: every matrix in Q8_0, norms in float32."""
    assert _nbytes(CONFIG, "q8_0") == TABLE + OUTPUT + 4 * LAYER
    assert _nbytes(_file(tmp_path), "q8_0") == TABLE + OUTPUT + 4 * LAYER


def test_rows_that_are_no_whole_blocks_are_16_bits() -> None:
    """Rows of 64 and 96 numbers are no blocks of 256."""
    assert _nbytes(CONFIG, "q4_k") == 2 * MATRICES + 4 * NORMS


def test_experts_and_layers_follow() -> None:
    """DeepSeek-V3 in 4 bits on 8 devices of experts; llama.cpp's plan by layer."""
    found = hfinspect.memory(
        str(MODELS / "deepseek-v3"), width="int4", expert_parallel=8, context=64
    )
    assert found.weights.per_device == pytest.approx(197_712_519_168 / 4, rel=1e-6)
    planned = hfinspect.memory(CONFIG, width="q8_0", engine="llama.cpp", context=256)
    assert planned.offload is not None
    assert [group.weights for group in planned.offload.layers] == [LAYER]


def test_a_router_stays_in_float32(tmp_path: Path) -> None:
    path = _file(tmp_path, experts=4)
    assert _nbytes(path, "q8_0") == hfinspect.memory(path).weights.nbytes


def test_nonsense_is_refused() -> None:
    for wrong in ({"width": "int3"}, {"width": "int4", "train": "lora"}):
        with pytest.raises(UsageError):
            hfinspect.memory(LLAMA, **wrong)  # type: ignore[arg-type]


def test_the_program() -> None:
    done = program("memory", LLAMA, "--width", "int4", "--context", "4k", "--on", "8GB")
    assert done.code == 0
    assert "sized at int4" in done.out
    assert program("memory", LLAMA, "--width", "wide").code == 2
