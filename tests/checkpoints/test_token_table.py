"""Lists of tokens as they come from strangers: bounded, and never more than an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.checkpoints import token_table
from hfinspect.checkpoints.token_table import added_by, all_added, id_conflicts, parse_tokenizer
from hfinspect.core.tokenizer_facts import AddedToken
from hfinspect.errors import HfinspectError, LimitError


def table(**content: Any) -> token_table.TokenTable:
    return parse_tokenizer("a/tokenizer.json", json.dumps(content).encode())


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ({"type": "BPE", "vocab": {"a": 0}}, "BPE"),
        ({"vocab": {"a": 0}, "merges": []}, "BPE"),
        ({"vocab": [["a", 0.0]]}, "Unigram"),
        ({"vocab": {"a": 0}, "max_input_chars_per_word": 9}, "WordPiece"),
        ({"vocab": {"a": 0}}, None),
    ],
)
def test_kinds_of_older_files_too(model: dict[str, Any], kind: str | None) -> None:
    vocabulary = table(model=model)
    assert (vocabulary.kind, vocabulary.ids, vocabulary.highest) == (kind, {"a": 0}, 0)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"model": 3, "added_tokens": {"a": 1}},
        {"model": {"vocab": 3}, "added_tokens": [None, 1, {}, {"id": True, "content": "a"}]},
        {"model": {"vocab": {"a": -1, "b": 2**40, "c": "1", "d": 1.5}}},
        {"model": {"vocab": [[], 1, [2, 3]]}},
    ],
)
def test_what_is_no_token_is_left_out(content: dict[str, Any]) -> None:
    vocabulary = table(**content)
    assert (vocabulary.ids, vocabulary.added, vocabulary.highest) == ({}, (), -1)


def test_a_list_of_lines() -> None:
    vocabulary = parse_tokenizer("vocab.txt", "[PAD]\nthe\r\nß\n".encode())
    assert vocabulary.ids == {"[PAD]": 0, "the": 1, "ß": 2}
    assert parse_tokenizer("vocab.txt", b" \n").ids == {}
    assert parse_tokenizer("vocab.txt", b"\xff\xfe").highest == 0


def test_too_many_values_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_table, "MAX_VALUES", 1000)
    for path, data in (
        ("tokenizer.json", b"[" + b"[]," * 600 + b"0]"),
        ("vocab.json", b"{" + b",".join(b'"%d":%d' % (n, n) for n in range(1200)) + b"}"),
        ("vocab.txt", b"a\n" * 2000),
    ):
        with pytest.raises(LimitError):
            parse_tokenizer(path, data)


def test_a_million_added_tokens_are_refused_and_thousands_are_not() -> None:
    added = [{"id": 5 + n, "content": f"<{n}>"} for n in range(5_000)]
    vocabulary = table(model={"vocab": {"a": 0}}, added_tokens=added)
    assert vocabulary.highest == 5_000  # numbered from the vocabulary on
    assert len(list(id_conflicts(vocabulary, vocabulary.added))) == 5_000
    with pytest.raises(LimitError, match="adds 1,000,000 tokens"):
        table(added_tokens=[0] * 1_000_000)


def test_deep_nesting_is_an_error() -> None:
    with pytest.raises(HfinspectError, match="nested"):
        parse_tokenizer("tokenizer.json", b"[" * 100_000 + b"]" * 100_000)


def test_tokens_of_other_files() -> None:
    assert list(added_by("x/added_tokens.json", {"a": 3, "b": "no", "c": -1})) == [
        AddedToken("a", 3, None, "x/added_tokens.json")
    ]
    decoder = {"7": {"content": "b", "special": True}, "x": {}, "9": 3, "99999999999999": "c"}
    tokens = list(added_by("tokenizer_config.json", {"added_tokens_decoder": decoder}))
    assert tokens == [AddedToken("b", 7, True, "tokenizer_config.json")]


def test_conflicts_between_files_and_with_the_vocabulary() -> None:
    listed = table(model={"vocab": {"a": 0, "b": 2}}, added_tokens=[{"id": 2, "content": "c"}])
    other = AddedToken("a", 5, None, "tokenizer_config.json")
    texts = [one.text for one in id_conflicts(listed, all_added(listed, [other]))]
    assert texts == [
        "c has id 2, which b of the vocabulary has too",
        "a has id 5 here and 0 in a/tokenizer.json",
    ]


def test_a_token_of_control_characters_is_shown_without_them() -> None:
    listed = table(model={"vocab": {"a": 0}}, added_tokens=[{"id": 9, "content": "\x1b[2J\u202e"}])
    (finding,) = id_conflicts(listed, listed.added)
    assert "\x1b" not in finding.text
    assert "\u202e" not in finding.text


KEYS = """model vocab added_tokens id content type x 9 config special_tokens rank token_str
default_vocab_size default_num_special_tokens""".split()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


LISTS = ["tokenizer.json", "vocab.json", "vocab.txt", "tekken.json", "tokenizer.model"]


@given(JSON, st.sampled_from(LISTS))
def test_any_value_is_tokens_or_an_error(value: object, path: str) -> None:
    try:
        vocabulary = parse_tokenizer(path, json.dumps(value).encode())
    except HfinspectError:
        return
    assert all(0 <= number < token_table.MAX_ID for number in vocabulary.ids.values())
    assert list(id_conflicts(vocabulary, all_added(vocabulary, ()))) is not None


@given(st.binary(max_size=200), st.sampled_from([*LISTS, "qwen.tiktoken"]))
def test_any_bytes_are_tokens_or_an_error(data: bytes, path: str) -> None:
    try:
        vocabulary = parse_tokenizer(path, data)
    except HfinspectError:
        return
    assert vocabulary.highest >= -1
