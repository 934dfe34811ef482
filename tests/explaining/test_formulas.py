"""From expressions in shapes to formulas, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.core.dims import Dim, named
from hfinspect.explaining.letters import assign
from hfinspect.explaining.polynomials import (
    MAX_TERMS,
    Polynomial,
    Quantity,
    number,
    of_shape,
    of_size,
    total,
    unknown,
    with_widths,
)
from hfinspect.explaining.writer import Writer

from .formula_reading import value_of


def written(polynomial: Polynomial) -> str:
    writer = Writer(assign(polynomial.quantities()))
    return writer.formula(polynomial).text


H = Dim(768, "hidden_size")
V = Dim(30522, "vocab_size")
HEADS = Dim(12, "num_attention_heads")


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((V, H), "V·H"),
        ((3 * H, H), "3·H²"),
        ((H, 4 * H), "4·H²"),
        ((4 * H + H,), "5·H"),
        ((H + 1,), "H + 1"),
        ((H - 1, H), "H² − H"),
        ((1 - H + H * H,), "H² − H + 1"),
        ((7,), "7"),
        ((), "1"),
        ((H // 2,), "H/2"),
        ((HEADS * (H // HEADS), H), "H²"),
        ((H // H, H), "H"),
        ((2 * H // (2 * H),), "1"),
        ((HEADS * (H + V),), "A·(V + H)"),
        ((H * (V + 2 * H),), "V·H + 2·H²"),
        ((H, H, H, H, H, H, H, H, H, H, H), "H¹¹"),
        (((V + 1) // 4,), "x_1"),
    ],
)
def test_shapes_are_written_as_people_write_them(shape: tuple[int, ...], text: str) -> None:
    assert written(of_shape(shape)) == text


def test_width_of_a_head_has_a_name() -> None:
    """hidden / heads that does not cancel is head_dim, with both its keys."""
    polynomial = with_widths(of_shape((H, 4 * (H // HEADS))))
    (width,) = [q for q in polynomial.quantities() if q.quotient]
    assert (width.name, width.value) == ("head_dim", 64)
    assert [q.name for q in width.quotient] == ["hidden_size", "num_attention_heads"]
    assert written(polynomial) == "4·H·d_k"


def test_inexact_division_is_a_quantity_of_its_own() -> None:
    """Rounding down cannot be expanded: the quotient keeps its definition."""
    polynomial = of_size((H + 1) // HEADS)
    (quantity,) = polynomial.quantities()
    assert polynomial.value == 769 // 12 == quantity.value
    assert quantity.definition == "(hidden_size + 1) // num_attention_heads, rounded down"


def test_derived_sizes_keep_their_definition() -> None:
    (quantity,) = of_size(named(100, "ffn", "two thirds, rounded")).quantities()
    assert (quantity.name, quantity.value, quantity.definition) == (
        "ffn",
        100,
        "two thirds, rounded",
    )


def test_an_expression_that_does_not_come_to_its_value_is_a_number() -> None:
    """The value is what counts: a wrong expression is not printed."""
    assert of_size(Dim(5, H.expr)) == number(5)


def test_products_too_long_to_read_are_numbers() -> None:
    names = [Dim(i + 2, f"key{i}") for i in range(9)]
    long = names[0]
    for dim in names[1:]:
        long = long + dim
    square = of_shape((long, long))
    assert len(square.terms) <= MAX_TERMS
    assert square == number(int(long) ** 2)


def test_deep_expressions_do_not_break() -> None:
    deep = H
    for _ in range(20_000):
        deep = deep + 1
    assert of_size(deep).value == 768 + 20_000


def test_one_key_with_two_values_is_two_quantities() -> None:
    both = of_shape((Dim(3, "width"),)) + of_shape((Dim(5, "width"),))
    letters = assign(both.quantities())
    assert both.value == 8
    assert len(set(letters.values())) == 2


def test_zero_vanishes() -> None:
    assert of_shape((H, Dim(0, "rotary"))) == number(0)
    assert written(of_shape((H * (Dim(0, "rotary") + 4),))) == "4·H"


def test_replacing_keeps_other_factors() -> None:
    inner = Quantity("intermediate_size", 3072)
    hidden = Quantity("hidden_size", 768)
    both = unknown(hidden) * unknown(inner) + unknown(inner)
    assert written(both.replaced(inner, unknown(hidden).times(4))) == "4·H² + 4·H"


def test_collected_by_powers() -> None:
    hidden = Quantity("hidden_size", 768)
    vocab = Quantity("vocab_size", 100)
    layers = Quantity("num_hidden_layers", 12)
    h = unknown(hidden)
    v = unknown(vocab)
    depth = unknown(layers)
    whole = total([v * h, depth * h * h.times(12), depth * h.times(13), h.times(2)])
    writer = Writer(assign(whole.quantities()))
    assert writer.collected(whole, hidden).text == "12·L·H² + (V + 13·L + 2)·H"
    one = h + number(1)
    assert writer.product(depth, one, writer.formula(one)).text == "L·(H + 1)"


# ---- properties


def _dims() -> st.SearchStrategy[Dim]:
    leaf = st.one_of(
        st.sampled_from(["hidden_size", "vocab_size", "n_head", "ffn_dim"]).flatmap(
            lambda name: st.just(Dim(sum(map(ord, name)) % 97 + 2, name))
        ),
        st.integers(0, 12).map(Dim),
    )

    def grown(inner: st.SearchStrategy[Dim]) -> st.SearchStrategy[Dim]:
        pairs = st.tuples(inner, inner)
        return st.one_of(
            pairs.map(lambda p: p[0] + p[1]),
            pairs.map(lambda p: p[0] * p[1]),
            pairs.map(lambda p: p[0] - p[1]),
            pairs.map(lambda p: p[0] // p[1] if int(p[1]) else p[0]),
        )

    return st.recursive(leaf, grown, max_leaves=12)


@given(st.lists(_dims(), max_size=3))
def test_printed_formula_comes_to_the_shape(dims: list[Dim]) -> None:
    """Whatever the expression: the printed formula with the printed values is the number."""
    expected = 1
    for dim in dims:
        expected *= int(dim)
    polynomial = with_widths(of_shape(tuple(dims)))
    assert polynomial.value == expected
    letters = assign(polynomial.quantities())
    formula = Writer(letters).formula(polynomial)
    values = {letter: quantity.value for quantity, letter in letters.items()}
    assert value_of(formula.text, values) == expected
    assert value_of(formula.numbers) == expected
    for quantity in letters:
        collected = Writer(letters).collected(polynomial, quantity)
        assert value_of(collected.text, values) == expected


CONFIG_KEYS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "", "text_config.", "vision_config.", "a_config.", "b_config."]),
    st.text("abhkv_", min_size=1, max_size=9),
    st.sampled_from(["", "", "[0]", "[1]", "[9]"]),
)


@given(st.lists(CONFIG_KEYS))
def test_letters_are_never_shared(keys: list[str]) -> None:
    letters = assign(Quantity(key, 2) for key in keys)
    assert len(set(letters.values())) == len(letters) == len(set(keys))
    assert all(value_of(letter, {letter: 3}) == 3 for letter in letters.values())
