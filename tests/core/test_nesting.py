"""Levels of texts and values, against a plain model and the decoder of Python."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import hfinspect
from hfinspect import HfinspectError
from hfinspect.core.nesting import (
    MAX_CONFIG_DEPTH,
    MAX_NESTING,
    NestingError,
    check_text,
    check_value,
    loads,
)
from hfinspect.core.overrides import applied

PACKAGE = Path(hfinspect.__file__).parent
#: What the package itself has written decodes without counting: its recorded tables, an answer, a
#: row and a config of its own.
OWN_TEXTS = {
    "core/data_files.py",
    "core/nesting.py",
    "inspecting/declared_class.py",
    "inspecting/meta_child.py",  # what its parent wrote
    "inspecting/meta_device.py",
    "inspecting/meta_process.py",
    "scanning/known_rows.py",
    "trees/catalog.py",
    "trees/trace_files.py",
    "web/serving/loopback.py",
}


def followed(text: str) -> int:
    """The levels that a decoder follows: it stops at a closing bracket too many, and at a backslash
    outside strings."""
    level = most = 0
    inside = escaped = False
    for sign in text:
        if escaped:
            escaped = False
        elif inside:
            escaped = sign == "\\"
            inside = sign != '"'
        elif sign == '"':
            inside = True
        elif sign in "[{":
            level += 1
            most = max(most, level)
        elif sign in "]}":
            level -= 1
        if level < 0 or (sign == "\\" and not inside):
            break
    return most


def levels(value: object) -> int:
    if isinstance(value, (dict, list)):
        return 1 + max(map(levels, value.values() if isinstance(value, dict) else value), default=0)
    return 0


def refused(text: str | bytes, most: int) -> int | None:
    try:
        check_text(text, most)
    except NestingError as error:
        return int(error.found.split()[2].replace(",", ""))
    return None


VALUES = st.recursive(
    st.none() | st.text('[]{}"\\é,:', max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('[}"\\'), inner, max_size=3)
    ),
    max_leaves=30,
)


@given(VALUES, st.integers(0, 6))
def test_of_json_the_levels_are_exact(value: object, most: int) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        depth = levels(value)
        expected = depth if depth > most else None
        assert refused(text, most) == refused(text.encode(), most) == expected


@given(st.text('[]{}"\\a', max_size=60), st.integers(0, 6))
@example('["\\\\",[["\\\\\\"]",[[[[', 4)
@example("[" + "[{[{}]}]," * 3 + "[[[[[[", 6)
def test_no_text_that_passes_is_followed_deeper(text: str, most: int) -> None:
    text = "[" + text
    if refused(text, most) is None:
        assert followed(text) <= most


@pytest.mark.parametrize("pair", ["[]", "{}"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32-le"])
def test_at_the_limit_and_beyond(pair: str, encoding: str) -> None:
    opening = '{"a":' if pair == "{}" else "["
    for count, fits in ((MAX_NESTING, True), (MAX_NESTING + 1, False), (100_000, False)):
        data = (opening * count + "1" + pair[1] * count).encode(encoding)
        if fits:
            assert levels(loads(data)) == count
        else:
            with pytest.raises(NestingError, match=f"nested {count:,} levels"):
                loads(data)


def test_a_value_that_contains_itself_is_nested_without_end() -> None:
    endless: list[object] = []
    endless += [endless, endless]
    with pytest.raises(NestingError):
        check_value(endless, 10)
    check_value([[[]], {"a": ()}, "text"], 3)


@pytest.mark.parametrize("kind", ["lists", "objects", "mixed"])
def test_a_config_at_the_limit_is_answered_and_one_beyond_refused(kind: str) -> None:
    llama = {
        "model_type": "llama",
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "vocab_size": 8,
    }

    def deep(count: int) -> object:
        value: object = 1
        for number in range(count):
            is_list = kind == "lists" or (kind == "mixed" and number % 2)
            value = [value] if is_list else {"a": value}
        return value

    known = {**llama, "a": {"b": 1}}
    for verb in (hfinspect.inspect, hfinspect.explain, hfinspect.memory):
        fits = verb({**llama, "more": deep(MAX_CONFIG_DEPTH - 1)})
        json.dumps(fits.to_dict(), indent=1)
        set_too = verb(known, overrides={"a.b": deep(MAX_CONFIG_DEPTH - 2)})
        json.dumps(set_too.to_dict(), indent=1)
        with pytest.raises(HfinspectError, match=f"nested {MAX_CONFIG_DEPTH + 1} levels deep"):
            verb({**llama, "more": deep(MAX_CONFIG_DEPTH)})
        with pytest.raises(HfinspectError, match="levels deep"):
            verb(known, overrides={"a.b": deep(MAX_CONFIG_DEPTH - 1)})
    with pytest.raises(HfinspectError, match="5,000 levels deep"):
        applied(llama, {".".join("a" * 5000): 1})


def test_foreign_json_has_one_reader() -> None:
    using = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "json.load" in path.read_text(encoding="utf-8")
    }
    assert using == OWN_TEXTS
