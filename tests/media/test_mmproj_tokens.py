"""Tokens by the keys of mmproj files: every recorded number of llama.cpp's own mtmd."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfinspect.core.media_tokens import AudioItem, ImageItem, VideoItem
from hfinspect.media.llama_cpp.counting import COUNTED, REFUSED, count_by_llama_cpp

from ..cli.program import ROOT
from ..examples import examples

RECORDED: list[dict[str, Any]] = json.loads(
    (ROOT / "fixtures/oracle/mmproj_tokens.json").read_text()
)["cases"]


@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_as_llama_cpp_counts(number: int) -> None:
    case = RECORDED[number]
    items: list[tuple[ImageItem | AudioItem, int | str]] = [
        (ImageItem(width, height), tokens) for width, height, tokens in case.get("images", ())
    ]
    items += [(AudioItem(ms), tokens) for ms, tokens in case.get("audio", ())]
    tensors = {case["tensor"]} if "tensor" in case else set()
    for item, tokens in items:
        known = count_by_llama_cpp(item, "mmproj.gguf", case["keys"], tensors)
        where = (case["keys"], item, known.unknown, known.derivation)
        if REFUSED.get(case["keys"]["clip.projector_type"]):
            assert known.tokens is None, where
        else:
            assert known.tokens == (None if isinstance(tokens, str) else tokens), where


def test_each_type_is_compared() -> None:
    compared = {case["keys"]["clip.projector_type"] for case in RECORDED}
    assert compared - set(REFUSED) == COUNTED
    assert not set(REFUSED) & COUNTED


NUMBERS = st.one_of(
    st.integers(-2, 40), st.integers(), st.integers(100, 2000), st.floats(), st.none(), st.text()
)
NAMES = sorted({key for case in RECORDED for key in case["keys"]})
SENSES = {"clip.has_vision_encoder": True, "clip.has_audio_encoder": True}


@settings(max_examples=examples(400), deadline=None)
@given(
    kind=st.sampled_from([*sorted(COUNTED), *sorted(REFUSED), "unknown"]),
    keys=st.dictionaries(st.sampled_from(NAMES), st.one_of(NUMBERS, st.lists(NUMBERS))),
    number=st.integers(0, len(RECORDED) - 1),
    width=st.integers(1, 65_536),
    height=st.integers(1, 65_536),
    milliseconds=st.integers(1, 86_400_000),
)
def test_a_number_or_a_reason(
    kind: str, keys: dict[str, Any], number: int, width: int, height: int, milliseconds: int
) -> None:
    metadata = {**RECORDED[number]["keys"], **keys, **SENSES, "clip.projector_type": kind}
    for item in (ImageItem(width, height), VideoItem(width, height, 8), AudioItem(milliseconds)):
        known = count_by_llama_cpp(item, "mmproj.gguf", metadata, set())
        if known.tokens is None:
            assert known.unknown
            assert known.unknown.isprintable()
        else:
            assert type(known.tokens) is int
            assert known.tokens >= 0
            assert known.derivation
