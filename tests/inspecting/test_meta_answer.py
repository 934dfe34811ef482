"""The answer of the process that builds a class is taken for foreign input."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.core.library_versions import TRANSFORMERS
from hfinspect.errors import ConfigError
from hfinspect.inspecting.meta_answer import BuildRefused, Built, Exhausted, NoSuchClass, parsed

SOUND: dict[str, Any] = {
    "architecture": "GPT2LMHeadModel",
    "model_type": "gpt2",
    "version": TRANSFORMERS,
    "tensors": [["h.0.w", [2, 3], True], ["h.0.b", [], False]],
    "tied": [["head.w", "h.0.w", [2, 3]]],
    "modules": {"": "GPT2LMHeadModel", "h": "ModuleList"},
}


def read(answer: object) -> object:
    return parsed(json.dumps(answer).encode())


def test_a_sound_answer() -> None:
    built = read(SOUND)
    assert isinstance(built, Built)
    assert built.tensors == {"h.0.w": ((2, 3), True), "h.0.b": ((), False)}
    assert built.tied == {"head.w": ("h.0.w", (2, 3))}


def test_the_other_answers() -> None:
    assert read({"unknown": True}) == NoSuchClass()
    assert read({"exhausted": True}) == Exhausted()
    assert read({"refused": "no \x1b[2J", "version": "5"}) == BuildRefused("no \ufffd[2J", "5")


BROKEN = {
    "other keys": {**SOUND, "more": 1},
    "a missing key": {key: value for key, value in SOUND.items() if key != "tied"},
    "a negative side": {**SOUND, "tensors": [["w", [-1], True]]},
    "a side beyond any": {**SOUND, "tensors": [["w", [2**41], True]]},
    "a truth for a side": {**SOUND, "tensors": [["w", [True], True]]},
    "a fraction for a side": {**SOUND, "tensors": [["w", [2.0], True]]},
    "too many sides": {**SOUND, "tensors": [["w", [1] * 65, True]]},
    "a number for a truth": {**SOUND, "tensors": [["w", [1], 1]]},
    "a row too short": {**SOUND, "tensors": [["w", [1]]]},
    "no list": {**SOUND, "tensors": {"w": [1]}},
    "no name": {**SOUND, "tensors": [["", [1], True]]},
    "an empty piece": {**SOUND, "tensors": [["a..b", [1], True]]},
    "a control character": {**SOUND, "tensors": [["a\n", [1], True]]},
    "a long name": {**SOUND, "tensors": [["a" * 5_000, [1], True]]},
    "a deep name": {**SOUND, "tensors": [[".".join("a" * 65), [1], True]]},
    "a tensor in a tensor": {**SOUND, "tensors": [["a", [1], True], ["a.b", [1], True]]},
    "tied and saved": {**SOUND, "tied": [["h.0.w", "h.0.b", [1]]]},
    "a class that is none": {**SOUND, "architecture": "rm -rf"},
    "a module that is none": {**SOUND, "modules": {"": 5}},
    "a text too long": {**SOUND, "version": "5" * 1_000},
    "a list": [SOUND],
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_answer_is_an_error_of_ours(case: str) -> None:
    with pytest.raises(ConfigError, match="the answer of the process"):
        read(BROKEN[case])


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 100_000, b"1" * 100_000, b"NaN"])
def test_what_is_no_answer(text: bytes) -> None:
    with pytest.raises(ConfigError):
        parsed(text)


_TEXTS = st.text(st.sampled_from("aw.0 /\n\u00e9"), max_size=4)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(SOUND)), _JSON)
def test_any_value_in_any_place(key: str, value: object) -> None:
    with suppress(ConfigError):
        assert isinstance(read({**SOUND, key: value}), Built)
