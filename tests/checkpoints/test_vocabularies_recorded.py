"""SentencePiece models and lists of ranks, as the libraries read them (tests/oracle)."""

from __future__ import annotations

import base64
import contextlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect.checkpoints.token_layouts import with_class_ids
from hfinspect.checkpoints.token_table import parse_tokenizer
from hfinspect.errors import ConfigError, FormatError, HfinspectError, LimitError
from hfinspect.formats import sentencepiece, tiktoken_ranks
from hfinspect.formats.sentencepiece import parse_sentencepiece
from hfinspect.formats.tiktoken_ranks import is_ranks, parse_ranks

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "oracle" / "vocabularies"
PIECES, CLASSES, RANKS, TEKKEN, DAMAGED = (
    json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("pieces", "classes", "ranks", "tekken", "damaged")
)
SAMPLES = [base64.b64decode(one["data"]) for one in PIECES.values()]


@pytest.mark.parametrize("name", PIECES)
def test_pieces_types_and_roles(name: str) -> None:
    library = PIECES[name]
    read = parse_sentencepiece("tokenizer.model", base64.b64decode(library["data"]))
    assert list(read.pieces) == library["pieces"]
    assert list(read.pieces.values()) == list(range(len(library["pieces"])))
    named = sum(len(library[kind]) for kind in ("unknown", "control", "unused", "byte"))
    types = Counter(read.types)
    for kind in ("unknown", "control", "unused", "byte"):
        assert types[kind] == len(library[kind])
    assert types["normal"] + types["user_defined"] == len(library["pieces"]) - named
    roles = {role: number for role, number in library["roles"].items() if number >= 0}
    assert {role: read.pieces[token] for role, token in read.roles.items()} == roles


def test_the_options_of_the_trainer_show() -> None:
    reads = {
        name: parse_sentencepiece("m", data) for name, data in zip(PIECES, SAMPLES, strict=True)
    }
    algorithms = {reads[name].algorithm for name in ("unigram", "bpe", "char", "word")}
    assert algorithms == {"unigram", "bpe", "char", "word"}
    assert reads["llama"].types["byte"] == 256
    assert reads["unused"].types["user_defined"] == reads["unused"].types["unused"] == 2


#: Of these, releases of transformers give different ids: some are known, or none.
DIFFERENT = {
    "Nllb": ("202 behind <mask>", 56),
    "RemBert": ("no config names unk and pad", 56),
    "CodeLlama": ("adds <FILL_ME>", 334),
    "CodeLlama-marked": ("adds <FILL_ME>", 334),
    "XGLM": ("7 behind them", 0),
    "Pegasus-named": ("number <mask_1> and its like differently", 0),
    "Pegasus-saved": ("number <mask_1> and its like differently", 0),
    "Pegasus-zero": ("number <mask_1> and its like differently", 0),
    "SeamlessM4T-padded": ("", 0),
}
#: And here one token has two ids, in both.
UNKNOWN = ("M2M100-turned",)


def written(name: str, tmp_path: Path) -> dict[str, Any]:
    case: dict[str, Any] = CLASSES[name]
    if case["file"]:
        (tmp_path / case["file"]).write_bytes(base64.b64decode(PIECES[case["model"]]["data"]))
    config = {"tokenizer_class": f"{name.partition('-')[0]}Tokenizer", **case["config"]}
    for path, content in {"tokenizer_config.json": config, **case["more"]}.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / path).write_text(text)
    assert len(case["library"]) > 1
    return case


@pytest.mark.parametrize("name", DIFFERENT)
def test_where_releases_differ(name: str, tmp_path: Path) -> None:
    first, second = (one["ids"] for one in written(name, tmp_path)["library"].values())
    assert first != second
    facts = hfinspect.tokenizer(tmp_path)
    reason, known = DIFFERENT[name]
    assert (facts.vocabulary.tokens, facts.vocabulary.padding) == (None, None)
    assert reason in next(one.text for one in facts.findings if one.rule == "unread")
    data = parse_tokenizer(facts.files[-1], (tmp_path / facts.files[-1]).read_bytes())
    table = with_class_ids(
        data,
        [
            CLASSES[name]["config"] | {"tokenizer_class": name.partition("-")[0]},
            CLASSES[name]["more"].get("special_tokens_map.json", {}),
        ],
        {},
    )
    assert table is not None
    assert len(table.ids) == known
    assert table.ids.items() <= first.items() & second.items()


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_list_in_another_order_is_unknown(name: str, tmp_path: Path) -> None:
    written(name, tmp_path)
    assert hfinspect.tokenizer(tmp_path).vocabulary.tokens is None


@pytest.mark.parametrize("name", sorted(CLASSES.keys() - {*DIFFERENT, *UNKNOWN}))
def test_the_ids_of_a_class(name: str, tmp_path: Path) -> None:
    case = written(name, tmp_path)
    facts = hfinspect.tokenizer(tmp_path)
    for said in case["library"].values():
        assert facts.vocabulary.tokens == said["tokens"]
        assert facts.vocabulary.highest == max(said["ids"].values())
        for one in facts.special:
            assert one.tokenizer == (said["special"][one.role],)
        for token in facts.added_tokens:
            number = token.id if token.given is None else token.given
            assert said["ids"][token.content] == number
    assert facts.vocabulary.unused == 0


@pytest.mark.parametrize("number", range(len(RANKS)))
def test_ranks(number: int) -> None:
    data = RANKS[number]["text"].encode()
    assert is_ranks(data)
    read = parse_ranks("m.tiktoken", data)
    tokens = {
        base64.b64encode(token.encode("latin-1")).decode(): id_ for token, id_ in read.items()
    }
    assert tokens == RANKS[number]["ranks"]


@pytest.mark.parametrize("number", range(len(TEKKEN)))
def test_tekken(number: int, tmp_path: Path) -> None:
    case = TEKKEN[number]
    (tmp_path / "tekken.json").write_text(json.dumps(case["file"]))
    facts = hfinspect.tokenizer(tmp_path)
    assert facts.vocabulary.tokens == case["tokens"]
    assert facts.vocabulary.highest == case["tokens"] - 1
    assert {one.role: one.tokenizer for one in facts.special} == {
        role: (number,) for role, number in case["roles"].items()
    }
    assert {one.content: one.id for one in facts.added_tokens} == case["special"]


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({}, "does not say"),
        ({"default_vocab_size": 900, "default_num_special_tokens": 5}, "lists 260 tokens"),
        ({"default_vocab_size": 3, "default_num_special_tokens": 5}, "lists 260 tokens"),
        ({"default_vocab_size": 3, "default_num_special_tokens": 10**9}, "does not say"),
    ],
)
def test_no_file_of_tekken(config: dict[str, int], problem: str) -> None:
    content = {**TEKKEN[0]["file"], "config": config}
    with pytest.raises(ConfigError, match=problem):
        parse_tokenizer("tekken.json", json.dumps(content).encode())


def test_what_is_damaged_is_refused_or_read_as_the_library_reads_it() -> None:
    loads = 0
    for case in DAMAGED:
        try:
            read = parse_sentencepiece("m", base64.b64decode(case["data"]))
        except FormatError:
            continue
        assert case["pieces"] in (None, len(read.pieces))
        loads += case["pieces"] is not None
    assert loads == sum(case["pieces"] is not None for case in DAMAGED)


def piece(text: bytes, kind: int = 1) -> bytes:
    inner = b"\x0a" + bytes([len(text)]) + text + b"\x18" + bytes([kind])
    return b"\x0a" + bytes([len(inner)]) + inner


@pytest.mark.parametrize(
    "data",
    [
        b"",
        piece(b"a"),
        piece(b"<unk>", 2) * 2,
        piece(b"<unk>", 2) + piece(b"a") * 2,
        piece(b"<unk>", 2) + piece(b""),
        piece(b"<unk>", 2) + b"\x0a\x7f",
        piece(b"<unk>", 2) + b"\x0f",
        piece(b"<unk>", 2) + b"\x00\x00",
        piece(b"<unk>", 2) + b"\x1d\x00",
        piece(b"<unk>", 2) + b"\x08" + b"\xff" * 11,
    ],
)
def test_no_model_of_sentencepiece(data: bytes) -> None:
    with pytest.raises(FormatError):
        parse_sentencepiece("tokenizer.model", data)


@pytest.mark.parametrize("data", [b"IQ==\n", b"IQ== x\n", b"I?== 3", b"IQ== 4294967296", b"IQ 1"])
def test_no_list_of_ranks(data: bytes) -> None:
    with pytest.raises(FormatError):
        parse_ranks("m.tiktoken", data)


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentencepiece, "MAX_PIECES", 20)
    monkeypatch.setattr(tiktoken_ranks, "MAX_RANKS", 20)
    with pytest.raises(LimitError):
        parse_sentencepiece("m", SAMPLES[0])
    with pytest.raises(LimitError):
        parse_ranks("m", b"IQ== 1\r" * 60)
    monkeypatch.setattr(sentencepiece, "MAX_PIECES", 200)
    assert parse_sentencepiece("m", SAMPLES[0]).pieces
    monkeypatch.setattr(sentencepiece, "MAX_MODEL_FIELDS", 40)
    with pytest.raises(LimitError):
        parse_sentencepiece("m", SAMPLES[0])


@given(st.sampled_from(SAMPLES), st.data())
def test_changed_bytes_are_pieces_or_an_error(sample: bytes, data: Any) -> None:
    changed = bytearray(sample)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(changed)))
    for content in (bytes(changed), bytes(changed[:cut])):
        try:
            read = parse_sentencepiece("m", content)
        except HfinspectError:
            continue
        assert len(read.pieces) == sum(read.types.values())


@given(st.binary(max_size=120))
def test_any_bytes_are_tokens_or_an_error(data: bytes) -> None:
    with contextlib.suppress(HfinspectError):
        assert parse_sentencepiece("m", data).types["unknown"] == 1
    with contextlib.suppress(HfinspectError):
        assert all(number < tiktoken_ranks.MAX_RANK for number in parse_ranks("m", data).values())


@given(st.dictionaries(st.binary(min_size=1, max_size=6), st.integers(0, 2**32 - 1), max_size=9))
def test_ranks_come_back(tokens: dict[bytes, int]) -> None:
    lines = (base64.b64encode(token) + b" %d" % rank for token, rank in tokens.items())
    read = parse_ranks("m", b"\n".join(lines))
    assert {token.encode("latin-1"): rank for token, rank in read.items()} == tokens
