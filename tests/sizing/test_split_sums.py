"""Bytes on the fullest device, next to the same sum in fractions."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from hfinspect.sizing.parallel import _SplitHeads, _up

heads = st.integers(1, 256)


@given(heads, heads, st.integers(1, 64), st.sampled_from(["query", "key", "qkv", "key_value"]))
def test_parts_of_heads_are_those_of_fractions(query: int, key: int, ranks: int, kind: str) -> None:
    kept = Fraction(-(-key // ranks), key)
    asked = Fraction(-(-query // ranks), query)
    whole = {"query": asked, "qkv": (asked * query + 2 * kept * key) / (query + 2 * key)}
    part, count = _SplitHeads(query, key).part(kind, ranks)
    assert Fraction(part, count) == whole.get(kind, kept)


@given(st.integers(0, 2**48), st.integers(1, 512), st.integers(1, 64), st.integers(1, 8))
def test_experts_are_rounded_up_once(nbytes: int, number: int, ranks: int, cuts: int) -> None:
    exact = Fraction(nbytes * -(-number // ranks), number) / cuts
    assert _up(nbytes * -(-number // ranks), number * cuts) == -(
        -exact.numerator // exact.denominator
    )
