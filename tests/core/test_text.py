"""Foreign text made safe, numbers in words."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect.core.text import (
    MAX_SHOWN,
    byte_size,
    clean,
    clean_lines,
    method_word,
    more_are,
    of_type,
    rounded_count,
    with_rounded,
)
from hfinspect.errors import HfinspectError

ODD = "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model.layers.0", "model.layers.0"),
        ("Größe 模型 ½", "Größe 模型 ½"),
        ("", ""),
        ("\x1b[31mred\x1b[0m", f"{ODD}[31mred{ODD}[0m"),
        ("a\r\nb\tc", f"a{ODD}{ODD}b{ODD}c"),
        ("\u202egnp.exe", f"{ODD}gnp.exe"),
        ("zero\u200bwidth\ufeff", f"zero{ODD}width{ODD}"),
        ("\x9b31m", f"{ODD}31m"),
        ("\ud800", ODD),
        ("\U000e0041", ODD),
        ("\x7f", ODD),
        ("a\u2028b\u2029", f"a{ODD}b{ODD}"),
    ],
)
def test_control_characters_stay_visible(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_long_text_is_cut() -> None:
    assert clean("a" * MAX_SHOWN) == "a" * MAX_SHOWN
    assert clean("a" * (MAX_SHOWN + 1)) == "a" * (MAX_SHOWN - 1) + "…"
    assert clean("\x1b" * 1_000_000, 10) == ODD * 9 + "…"


@given(st.text(), st.integers(1, 50))
def test_clean_text_is_printable_and_short(text: str, limit: int) -> None:
    shown = clean(text, limit)
    assert len(shown) <= limit
    assert not any(unicodedata.category(char).startswith("C") for char in shown)
    assert len(shown.splitlines()) <= 1
    assert clean(shown, limit) == shown


@given(st.text())
def test_lines_stay_lines(text: str) -> None:
    assert clean_lines(text).count("\n") == text.count("\n")
    assert len(clean_lines(text).splitlines()) <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.00 K"),
        (9994, "9.99 K"),
        (9995, "10.0 K"),
        (9996, "10.0 K"),
        (99_949, "99.9 K"),
        (99_950, "100 K"),
        (999_499, "999 K"),
        (999_500, "1.00 M"),
        (117_000_000, "117 M"),
        (1_303_111_680, "1.30 B"),
        (999_499_999, "999 M"),
        (999_500_000, "1.00 B"),
        (174_604_259_328, "175 B"),
        (10**12, "1.00 T"),
        (10**15, "1000 T"),
    ],
)
def test_counts_in_words(number: int, words: str) -> None:
    assert rounded_count(number) == words


@pytest.mark.parametrize(
    ("nbytes", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.00 kB"),
        (999_500, "1.00 MB"),
        (2_606_223_360, "2.61 GB"),
        (10**12, "1.00 TB"),
    ],
)
def test_bytes_in_words(nbytes: int, words: str) -> None:
    assert byte_size(nbytes) == words


UNITS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}


@given(st.integers(1, 10**15))
def test_words_are_within_half_a_percent(number: int) -> None:
    """Three digits; never 1000 of a unit that has a larger one."""
    match = re.fullmatch(r"([\d.]+) ?([KMBT]?)", rounded_count(number))
    assert match
    value = float(match[1]) * UNITS[match[2]]
    assert abs(value - number) <= number * 0.00501
    assert float(match[1]) < 1000 or match[2] == "T"


def test_methods_named_after_a_format_are_spelled_as_it_is() -> None:
    assert [method_word(m) for m in ("fp8", "mxfp4", "gptq")] == ["FP8", "MXFP4", "gptq"]


@pytest.mark.parametrize(("value", "named"), [(3, "an int"), ([], "a list")])
def test_the_type_of_a_value_has_its_article(value: object, named: str) -> None:
    assert of_type(value) == named
    with pytest.raises(HfinspectError, match=f"is {named}"):
        hfinspect.inspect(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("number", "shown"), [(84, "84"), (999, "999"), (1_303_111_680, "1,303,111,680 (1.30 B)")]
)
def test_a_count_has_its_rounded_form_where_that_is_another(number: int, shown: str) -> None:
    assert with_rounded(number) == shown


def test_one_more_is_one() -> None:
    assert [more_are(n, "row") for n in (1, 2, 1200)] == [
        "1 more row is",
        "2 more rows are",
        "1,200 more rows are",
    ]
