"""Dim: an int in every operation, with its derivation where both sides are integers."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.core.dims import Dim, evaluate

SIZES = st.integers(1, 2**40)
OPERATIONS = [operator.add, operator.sub, operator.mul, operator.floordiv]


@pytest.mark.parametrize("operation", OPERATIONS)
@given(left=SIZES, right=SIZES)
def test_integers_keep_their_derivation(operation, left, right) -> None:  # type: ignore[no-untyped-def]
    found = operation(Dim(left, "a"), Dim(right, "b"))
    assert found == operation(left, right)
    assert evaluate(found.expr, {"a": left, "b": right}) == found


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_float_makes_a_plain_float(operation) -> None:  # type: ignore[no-untyped-def]
    """24 · 1.6 is 38.4 on either side, never 24 · 1."""
    assert operation(Dim(24, "a"), 1.6) == operation(24, 1.6)
    assert operation(1.6, Dim(24, "a")) == operation(1.6, 24)
