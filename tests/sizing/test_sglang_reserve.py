"""What SGLang's own rule leaves free of a card, recorded by ``record_sglang_reserve``."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.sizing.engines.sglang import Sglang
from hfinspect.sizing.engines.sglang_reserve import MIB, HeldCard, ServedModel, served, static_share
from hfinspect.sizing.workspace import RUNTIME_BYTES

ROOT = Path(__file__).parents[2]
LLAMA = str(ROOT / "fixtures" / "models" / "llama-3-8b")
RECORD: dict[str, Any] = json.loads(
    (ROOT / "fixtures" / "oracle" / "sglang_reserve.json").read_text()
)
ROWS: list[dict[str, Any]] = [
    {**RECORD["models"][row[0]], **dict(zip(RECORD["columns"], row, strict=True))}
    for row in RECORD["rows"]
]


def config_of(row: dict[str, Any]) -> dict[str, Any]:
    """The keys of config.json that the rule looks at."""
    config: dict[str, Any] = {"kv_lora_rank": 512} if row["latents"] else {}
    if row["delta"]:
        config["linear_attn_config"] = {"kda_layers": [1]}
    if row["vision"]:
        layers, width = row["vision"]
        config["vision_config"] = {"num_hidden_layers": layers, "hidden_size": width}
    return config


def same(row: dict[str, Any]) -> bool:
    """Whether step and share are those that SGLang sets."""
    engine = Sglang().on_device(row["mib"] * MIB, "")
    assert isinstance(engine, Sglang)
    card = HeldCard(Fraction(row["mib"]), row["tensor"], row["stages"], row["amd"])
    share = static_share(card, engine.step, served(row["architecture"], config_of(row), 0, 0))
    # SGLang multiplies numbers of 64 bits.
    return engine.step == row["step"] and abs(share - Fraction(row["fraction"])) < Fraction(
        1, 10**12
    )


@pytest.mark.parametrize("model", RECORD["models"])
def test_the_share_of_weights_and_cache_is_that_of_sglang(model: str) -> None:
    rows = [row for row in ROWS if row["model"] == model]
    assert len(rows) == 126
    assert [row for row in rows if not same(row)] == []


@pytest.mark.parametrize(("card", "mib"), [("RTX 4090", 24564), ("H100", 81559)])
def test_a_card_is_compared_with_weights_cache_and_what_is_left_free(card: str, mib: int) -> None:
    row = next(r for r in ROWS if (r["model"], r["mib"], r["tensor"]) == ("llama-3-8b", mib, 1))
    sized = hfinspect.memory(LLAMA, engine="sglang", on=card, context=8192)
    assert sized.workspace is not None and sized.cache is not None
    before = mib * MIB - RUNTIME_BYTES
    static = int(Fraction(row["fraction"]).limit_denominator(1000) * before)
    assert sized.workspace.nbytes == mib * MIB - static
    assert sized.weights.nbytes is not None
    room = static - sized.weights.nbytes
    assert sized.fits is (sized.cache.nbytes <= room)
    assert "mem_fraction_static" in sized.workspace.formula
    one = hfinspect.memory(LLAMA, engine="sglang", on=card, context=room // 131072)
    more = hfinspect.memory(LLAMA, engine="sglang", on=card, context=room // 131072 + 1)
    assert (one.fits, more.fits) == (True, False)


def test_aiter_takes_its_part_of_a_card_of_amd() -> None:
    card = HeldCard(Fraction(65520), amd=True)
    short, long, latents = (
        static_share(card, 8192, ServedModel(heads=32, context=context, latents=latents))
        for context, latents in ((8192, False), (8193, False), (8193, True))
    )
    assert long == short * Fraction(85, 100)
    assert latents == short  # aiter has no kernel of 32 heads
    sized = hfinspect.memory(LLAMA, engine="sglang", on="MI300X", context=8192)
    assert sized.workspace is not None
    # (196,592 − 512 − 1.5 × 16,384 − 128 − 2 × 512) / 196,592
    assert "mem_fraction_static 0.867" in sized.workspace.formula


def test_a_card_that_is_too_small_for_the_reserve_fits_nothing() -> None:
    tiny = hfinspect.memory(LLAMA, engine="sglang", on="2GB", context=16)
    assert tiny.workspace is not None
    assert tiny.workspace.nbytes == 2 * 10**9
    assert tiny.fits is False


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_one_answer_with_and_without_a_named_card(engine: str) -> None:
    """The table of cards asks each by the engine's settings there."""
    alone = hfinspect.memory(LLAMA, engine=engine, context=4096)
    for card in alone.recipes[0].on:
        named = hfinspect.memory(LLAMA, engine=engine, context=4096, on=card.card.replace(" ", ""))
        assert card.at[0].fits is named.fits
    assert alone.smallest_card is not None
    assert hfinspect.memory(LLAMA, engine=engine, context=4096, on=alone.smallest_card).fits
