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


def reserved_by_us(row: dict[str, Any]) -> int:
    """Bytes of the groups of one recorded row."""
    layers = [
        CachedLayer((KeysValues(heads * size, heads * size, heads=heads),), window)
        for count, window, heads, size in row["kinds"]
        for _ in range(count)
    ]
    tokens, step, steps = row["at"]
    engine = Vllm(step_tokens=step, steps_in_flight=steps)
    sized = cache_size(layers, engine, CacheRequest(tokens, 1, "BF16"))
    assert sum(group.nbytes for group in sized.layers) == sized.nbytes
    return sized.nbytes


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['model']}-{row['at']}")
def test_pages_are_those_of_vllm(row: dict[str, Any]) -> None:
    assert reserved_by_us(row) == row["nbytes"]


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
