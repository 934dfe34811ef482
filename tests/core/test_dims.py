"""Dim: an int in every operation, with its derivation where both sides are integers."""

from __future__ import annotations

import json
import operator
import pickle
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.core.dims import (
    MAX_EXPRESSION,
    Binary,
    Constant,
    Dim,
    Expr,
    Symbol,
    expr_of,
    named,
    symbols,
)

SIZES = st.integers(1, 2**40)
BY_SIGN = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv}
OPERATIONS = list(BY_SIGN.values())


def evaluate(expr: Expr, values: Mapping[str, int]) -> int:
    """The expression's number for given symbol values; KeyError names a missing symbol."""
    if isinstance(expr, Constant):
        return expr.value
    if isinstance(expr, Symbol):
        return int(values[expr.name])
    left = evaluate(expr.left, values)
    right = evaluate(expr.right, values)
    return int(BY_SIGN[expr.op](left, right))


@pytest.mark.parametrize("operation", OPERATIONS)
@given(left=SIZES, right=SIZES)
def test_integers_keep_their_derivation(operation, left, right) -> None:  # type: ignore[no-untyped-def]
    dim = operation(Dim(left, "a"), Dim(right, "b"))
    assert dim == operation(left, right)
    assert evaluate(dim.expr, {"a": left, "b": right}) == dim


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_float_makes_a_plain_float(operation) -> None:  # type: ignore[no-untyped-def]
    """24 · 1.6 is 38.4 on either side, never 24 · 1."""
    assert operation(Dim(24, "a"), 1.6) == operation(24, 1.6)
    assert operation(1.6, Dim(24, "a")) == operation(1.6, 24)


def test_expressions_are_written_with_the_brackets_they_need() -> None:
    a = Dim(12, "a")
    b = Dim(6, "b")
    c = Dim(2, "c")
    assert [
        str(dim.expr)
        for dim in (
            3 * a,
            (a + b) * c,
            a + b * c,
            a - (b - c),
            a - b - c,
            a * (b // c),
            a // b * c,
            a // (b * c),
            a * (b * c),
            a + (b + c),
            a * (b + 1),
            2 - a,
            a * (b // c * a),
        )
    ] == [
        "3 * a",
        "(a + b) * c",
        "a + b * c",
        "a - (b - c)",
        "a - b - c",
        "a * (b // c)",
        "a // b * c",
        "a // (b * c)",
        "a * b * c",
        "a + b + c",
        "a * (b + 1)",
        "2 - a",
        "a * (b // c * a)",
    ]


LEAVES: st.SearchStrategy[Dim | int] = st.one_of(
    st.sampled_from([Dim(7, "a"), Dim(3, "b"), Dim(2, "c")]), st.integers(1, 9)
)
TREES: st.SearchStrategy[Dim | int] = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        lambda operation, left, right: operation(left, right or 1),
        st.sampled_from(OPERATIONS),
        inner,
        inner,
    ),
    max_leaves=12,
)
VALUES = {"a": 7, "b": 3, "c": 2}


@given(TREES)
def test_what_is_written_is_what_is_meant(dim: Dim | int) -> None:
    """The text of an expression, read by Python, comes to the same number; so does the tree."""
    expr = expr_of(dim)
    assert evaluate(expr, VALUES) == dim
    assert eval(str(expr), {"__builtins__": {}}, dict(VALUES)) == dim
    assert {symbol.name for symbol in symbols(expr)} <= set(VALUES)


@given(TREES)
def test_a_dim_is_an_int_everywhere(dim: Dim | int) -> None:
    again = pickle.loads(pickle.dumps(dim))
    assert (again, expr_of(again)) == (dim, expr_of(dim))
    assert json.dumps([dim]) == json.dumps([int(dim)])
    assert (f"{dim}", f"{dim:,}", hash(dim)) == (f"{int(dim)}", f"{int(dim):,}", hash(int(dim)))


def test_a_named_quantity_is_a_symbol_of_its_own() -> None:
    dim = named(11008, "intermediate_size", "two thirds of 4·hidden_size, rounded up to 256")
    assert list(symbols((dim * 2).expr)) == [
        Symbol("intermediate_size", "two thirds of 4·hidden_size, rounded up to 256", 11008)
    ]


def test_a_sum_over_ten_thousand_layers_stays_shallow() -> None:
    # Nothing that follows an expression, taking it apart included, may need 10,000 frames.
    width = Dim(3, "width")
    total = sum((width for _ in range(10_000)), Dim(0))
    deep = 0
    expr = total.expr
    while isinstance(expr, Binary):
        deep = deep + 1
        expr = expr.left
    assert total == 30_000
    assert deep <= MAX_EXPRESSION
    assert eval(str(total.expr), {"width": 3}) == 30_000
    assert hash(total.expr) == hash(total.expr)
