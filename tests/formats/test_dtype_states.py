"""States of NumPy's dtypes as NumPy writes them (2.4 and 1.16), and forged ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.formats.pickles.dtype_states import odd_dtype_state
from hfinspect.formats.pickles.nodes import GlobalRef, Inert

PLAIN = (None, None, None, -1, -1, 0)


def _dtype(name: object, state: object = None) -> Inert:
    made = Inert(GlobalRef("numpy", "dtype"), (name, False, True))
    if state is not None:
        made.parts.append(state)
    return made


F8 = _dtype("f8", (3, "<", *PLAIN))
OBJECT = _dtype("O8", (3, "|", *PLAIN[:5], 63))
RECORD = ("a",), {"a": (F8, 0)}
OBJECTS = ("a",), {"a": (OBJECT, 0)}


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("f8", (3, "<", *PLAIN)),
        ("u2", (3, ">", *PLAIN)),
        ("b1", (3, "|", *PLAIN)),
        ("O8", (3, "|", *PLAIN[:5], 63)),
        ("S5", (3, "|", None, None, None, 5, 1, 0)),
        ("U5", (3, "<", None, None, None, 20, 4, 8)),
        ("V8", (3, "|", None, None, None, 8, 1, 0)),
        ("M8", (4, "<", *PLAIN, (None, (b"s", 1, 1, 1)))),
        ("V8", (3, "|", None, *RECORD, 8, 1, 16)),
        ("V8", (3, "|", None, *RECORD, 8, 8, 144)),
        ("V8", (3, "|", None, *RECORD, 8, 1, 0)),
        ("V8", (3, "|", None, *OBJECTS, 8, 1, 27)),
        ("V24", (3, "|", (F8, (3,)), None, None, 24, 8, 0)),
        (GlobalRef("numpy", "record"), (3, "|", None, *RECORD, 8, 1, 16)),
        (GlobalRef("ml_dtypes", "bfloat16"), (3, "=", *PLAIN[:5], 112)),
    ],
)
def test_what_numpy_writes_is_not_odd(name: object, state: tuple[Any, ...]) -> None:
    made = _dtype(name, state)
    assert odd_dtype_state(made, state) == ""


@pytest.mark.parametrize(
    ("name", "state", "said"),
    [
        ("O8", (3, "|", *PLAIN), "flags 0 of O8, whose own are 63"),
        ("f8", (3, "<", *PLAIN[:5], -1), "flags -1"),
        ("f8", (3, "<", *PLAIN[:5], 1), "flags 1"),
        ("f8", (3, "<", *PLAIN[:5], True), "flags"),
        ("S8", (3, "|", None, None, None, 8, 1, 63), "flags 63"),
        ("f8", (3, "<", None, *RECORD, -1, -1, 0), "fields of a f"),
        ("V8", (3, "|", None, *OBJECTS, 8, 1, 16), "hold objects"),
        ("V8", (3, "|", None, *RECORD, 8, 1, 27), "hold no objects"),
        ("V8", (3, "|", None, None, None, 8, 1, 4), "flags 4"),
        ("f8", ["3"], "not a tuple"),
        ("f8", (3, "<"), "not a tuple"),
        ("f8", ("3", "<", *PLAIN), "version"),
        (GlobalRef("ml_dtypes", "bfloat16"), (3, "=", *PLAIN[:5], 113), "flags 113"),
    ],
)
def test_what_is_forged_is_named(name: object, state: object, said: str) -> None:
    assert said in odd_dtype_state(_dtype(name, state), state)


def test_a_state_that_is_set_twice() -> None:
    made = _dtype("f8", (3, "<", *PLAIN))
    made.parts.append((3, "<", *PLAIN))
    assert odd_dtype_state(made, made.parts[-1]) == "its state is set twice"


@given(st.integers(), st.sampled_from(["f8", "O8", "V8", "S4", "U4", "i1"]))
def test_no_other_flags_than_the_plain_ones_are_taken(flags: int, name: str) -> None:
    state = (3, "|", None, None, None, 8, 1, flags)
    plain = {"O8": 63, "U4": 8}.get(name, 0)
    allowed = {plain, 16, 8, 24, 128, 136, 144, 152} if name == "V8" else {plain}
    assert (odd_dtype_state(_dtype(name, state), state) == "") == (flags in allowed)
