"""``--set key=value``."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.core.overrides import applied, parse_overrides
from hfinspect.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n=1", {"n": 1}),
        ("n=1.5", {"n": 1.5}),
        ("n=true", {"n": True}),
        ("n=null", {"n": None}),
        ("n=", {"n": ""}),
        ("n=relu", {"n": "relu"}),
        ("n=a=b", {"n": "a=b"}),
        (" n =[1, 2]", {"n": [1, 2]}),
        ("t.v=3", {"t.v": 3}),
        ('n="5"', {"n": "5"}),
        ("n={", {"n": "{"}),
        ("n=" + "[" * 60, {"n": "[" * 60}),
    ],
)
def test_parsed(text: str, expected: dict[str, object]) -> None:
    assert parse_overrides([text]) == expected


@pytest.mark.parametrize("text", ["", "n", "=1", ".=1", "a..b=1", "a.=1", ".a=1", " =1"])
def test_malformed(text: str) -> None:
    with pytest.raises(UsageError, match="expected key=value"):
        parse_overrides([text])


def test_the_last_of_equal_keys_counts() -> None:
    assert parse_overrides(["n=1", "n=2"]) == {"n": 2}


def test_dotted_keys_reach_into_sections_and_leave_the_original_alone() -> None:
    config = {"a": 1, "t": {"v": 2, "deep": {"x": 1}}}
    changed = applied(config, {"t.v": 3, "t.deep.y": 4, "new.z": 5, "a": None})
    assert changed == {
        "a": None,
        "t": {"v": 3, "deep": {"x": 1, "y": 4}},
        "new": {"z": 5},
    }
    assert config == {"a": 1, "t": {"v": 2, "deep": {"x": 1}}}
    assert applied(config, None) is config


def test_a_dotted_key_through_no_object() -> None:
    with pytest.raises(UsageError, match="runs through a"):
        applied({"a": 1}, {"a.b": 2})
    assert applied({"a": None}, {"a.b": 2}) == {"a": {"b": 2}}


KEYS = st.text("abc.", min_size=1, max_size=5).filter(lambda key: all(key.split(".")))


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers() | st.dictionaries(KEYS, st.integers())),
    st.dictionaries(KEYS, st.integers(), max_size=3),
)
def test_what_was_set_is_there(config: dict[str, Any], overrides: dict[str, int]) -> None:
    try:
        changed = applied(config, overrides)
    except UsageError:
        return
    dotted, value = next(reversed(overrides.items()), ("", 0))
    place: Any = changed
    for key in dotted.split(".") if dotted else ():
        place = place[key]
    assert not dotted or place == value
    assert set(config) <= set(changed)
