"""What vLLM's own planner reserves, recorded by ``record_vllm_pages``, and its defaults by card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.sizing.cache_request import CachedLayer, CacheRequest
from hfinspect.sizing.devices import parse_device
from hfinspect.sizing.engines.vllm import Vllm
from hfinspect.sizing.kv_cache import cache_size
from hfinspect.trees.cache_layout import KeysValues

ROOT = Path(__file__).parents[2]
ROWS: list[dict[str, Any]] = json.loads(
    (ROOT / "fixtures" / "oracle" / "vllm_pages.json").read_text()
)["rows"]


def _rows(heads: int, key: int, value: int) -> KeysValues:
    if not heads:
        return KeysValues(key, value, latent=True)
    return KeysValues(heads * key, heads * value, heads=heads)


def reserved_by_us(row: dict[str, Any]) -> int:
    """Bytes of the groups of one recorded row."""
    layers = [
        CachedLayer((_rows(heads, key, value),), window)
        for count, window, heads, key, value in row["kinds"]
        for _ in range(count)
    ]
    tokens, step, steps = row["at"]
    engine = Vllm(step_tokens=step, steps_in_flight=steps)
    sized = cache_size(layers, engine, CacheRequest(tokens, 1, "BF16"))
    assert sum(group.nbytes for group in sized.layers) == sized.nbytes
    return sized.nbytes


def test_pages_are_those_of_vllm() -> None:
    """Where they differ: our bytes and the planner's."""
    ours = [(row, reserved_by_us(row)) for row in ROWS]
    assert {
        f"{row['model']} {row['at']}": (nbytes, row["nbytes"])
        for row, nbytes in ours
        if nbytes != row["nbytes"]
    } == {}


@pytest.mark.parametrize(
    ("card", "step", "sequences"),
    [
        ("RTX 4090", 2048, 256),
        ("L40S", 2048, 256),
        ("A100 80GB", 2048, 256),
        ("H100", 8192, 1024),
        ("H200", 8192, 1024),
        ("B200", 16384, 1024),
    ],
)
def test_steps_are_the_servers_defaults_on_a_card(card: str, step: int, sequences: int) -> None:
    device = parse_device(card)
    engine = Vllm().on_device(device.nbytes, device.name)
    assert isinstance(engine, Vllm)
    assert (engine.step, engine.sequences) == (step, sequences)
    assert engine.in_flight == 2 * step


def test_a_share_of_the_device_stays_free() -> None:
    """Weights of 16.1 GB, a cache of 4 GB and the limit of the rest against 92 of 100 bytes."""
    model = str(ROOT / "fixtures" / "models" / "llama-3-8b")
    sized = hfinspect.memory(model, engine="vllm", on="24GB", context=8192)
    assert sized.device is not None
    assert sized.device[1] == 24 * 10**9 * 92 // 100
    assert any("uses 22.1 GB of each device's 24.0 GB" in note for note in sized.notes)
    tight = hfinspect.memory(model, engine="vllm", on="19GB", context=8192)
    assert sized.total is not None
    assert 19 * 10**9 * 92 // 100 < sized.total < 19 * 10**9
    assert tight.fits is False


def test_stages_keep_more_steps_in_flight() -> None:
    assert Vllm().in_stages(4).in_flight == 5 * 8192  # type: ignore[attr-defined]


_GEMMA_4 = {
    "model_type": "gemma4_text",
    "architectures": ["Gemma4ForCausalLM"],
    "torch_dtype": "bfloat16",
    "num_hidden_layers": 30,
    "num_key_value_heads": 8,
    "head_dim": 256,
    "global_head_dim": 512,
    "num_global_key_value_heads": 2,
    "attention_k_eq_v": True,
    "sliding_window": 1024,
    "hidden_size_per_layer_input": 0,
}


@pytest.mark.parametrize("dtype", [None, "fp8", "f32"])
def test_a_config_gives_the_pages_of_its_planner(dtype: str | None) -> None:
    """The row ``gemma-4-26b-a4b``: full layers hold 32 tokens in a page, the others 16."""
    at = [32768, 8192, 2]
    row = next(row for row in ROWS if row["model"] == "gemma-4-26b-a4b" and row["at"] == at)
    cache = hfinspect.memory(_GEMMA_4, engine="vllm", context=32768, cache_dtype=dtype).cache
    assert cache is not None
    assert cache.nbytes * 2 == row["nbytes"] * {None: 2, "fp8": 1, "f32": 4}[dtype]
    assert any("pages of one size" in note for note in cache.notes)
    derived = hfinspect.explain_cache(_GEMMA_4, engine="vllm", context=32768, cache_dtype=dtype)
    assert sum(line.nbytes for line in derived.lines) == cache.nbytes
    assert {line.rows_formula for line in derived.lines} == {
        "b·16·(⌈min(W − 1 + 2·8,192, N)/16⌉ + 1)",
        "b·32·⌈N/32⌉",
    }
