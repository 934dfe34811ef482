"""Bytes that the next token reads, and the speed that a bandwidth allows."""

from __future__ import annotations

from pathlib import Path

import pytest

import hfinspect
from hfinspect.core.bytes_read import Reading
from hfinspect.errors import UsageError
from hfinspect.sizing.reading import parse_bandwidth

from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from .llama_gguf import llama_file
from .test_offload import OUTPUT

MODELS = ROOT / "fixtures" / "models"
LLAMA = str(MODELS / "llama-3-8b")


def _reading(target: str | Path, **more: int | str) -> Reading:
    memory = hfinspect.memory(target, **{"context": 4096, **more})  # type: ignore[arg-type]
    assert memory.reading is not None
    return memory.reading


def test_llama_reads_all_but_its_table() -> None:
    reading = _reading(LLAMA, bandwidth="3.35TB/s")
    assert reading.weights == 2 * (8_030_261_248 - 128_256 * 4096)
    assert reading.cache == 131_072 * 4096
    assert reading.tokens_per_second == pytest.approx(3.35e12 / reading.nbytes)
    flops = 2 * (8_030_261_248 - 128_256 * 4096 - 65 * 4096) + 2 * 4096 * 32 * 2 * 4096
    assert reading.decode_intensity == pytest.approx(flops / reading.nbytes)


def test_a_batch_shares_the_weights() -> None:
    one, many = (_reading(LLAMA, bandwidth="1TB/s", batch=n) for n in (1, 16))
    assert many.weights == one.weights
    assert many.cache == 16 * one.cache
    assert many.tokens_per_second == pytest.approx(16e12 / many.nbytes)


def test_k_of_n_experts_are_read() -> None:
    """Mixtral: 2 of 8 experts of 3 · 4096 · 14336 in 32 layers."""
    whole = hfinspect.memory(str(MODELS / "mixtral-8x7b"), context=64).weights.nbytes
    assert whole is not None
    left_out = 32 * 6 * 3 * 4096 * 14336 + 32_000 * 4096
    assert _reading(str(MODELS / "mixtral-8x7b")).weights == whole - 2 * left_out


def test_a_tied_table_is_read_as_the_head(tmp_path: Path) -> None:
    weights = hfinspect.memory(llama_file(tmp_path, head=False)).weights.nbytes
    assert _reading(llama_file(tmp_path, head=False)).weights == weights
    whole = hfinspect.memory(llama_file(tmp_path)).weights.nbytes
    assert whole is not None
    assert _reading(llama_file(tmp_path)).weights == whole - (OUTPUT - 256)


def test_devices_add_up() -> None:
    one, four = (_reading(LLAMA, bandwidth="1TB/s", tensor_parallel=n) for n in (1, 4))
    assert four.tokens_per_second == pytest.approx(4 * (one.tokens_per_second or 0))


def test_bandwidths() -> None:
    assert parse_bandwidth("3.35TB/s") == 3_350_000_000_000
    assert parse_bandwidth("936 GB/S") == 936 * 10**9
    for wrong in ("3.35", "fast", "936GB", "0GB/s"):
        with pytest.raises(UsageError):
            parse_bandwidth(wrong)


def test_the_program() -> None:
    arguments = ("memory", LLAMA, "--context", "8k")
    shown = program(*arguments, "--bandwidth", "3.35TB/s", env={"COLUMNS": "200"}).out
    assert "at most 208 tokens/s" in shown
    shown = program(*arguments, "--bandwidth", "3.35TB/s", "--details", env={"COLUMNS": "200"}).out
    assert "at most 208.3 tokens/s by 3.35 TB/s" in shown
    assert "tokens/s" not in program(*arguments).out
    assert program(*arguments, "--bandwidth", "quick").code == 2
