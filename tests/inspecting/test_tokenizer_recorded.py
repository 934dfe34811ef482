"""What is read of a tokenizer's files is what transformers finds in them (tests/oracle)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.checkpoints.token_table import parse_tokenizer

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "oracle" / "tokenizers"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json") if path.stem != "ids")
IDS = json.loads((FOLDER / "ids.json").read_text(encoding="utf-8"))["cases"]


def facts_of(name: str, directory: Path) -> tuple[hfinspect.TokenizerFacts, dict[str, Any]]:
    content = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    for path, text in content["files"].items():
        (directory / path).parent.mkdir(exist_ok=True)
        (directory / path).write_text(text, encoding="utf-8")
    return hfinspect.tokenizer(directory), content["library"]


@pytest.mark.parametrize("name", NAMES)
def test_tokens_and_ids(name: str, tmp_path: Path) -> None:
    facts, library = facts_of(name, tmp_path)
    tokens = facts.vocabulary
    assert (tokens.tokens, tokens.base) == (library["tokens"], library["vocab_size"])
    assert tokens.kind == library["kind"]
    assert tokens.highest == max(library["tokens"] - 1, *library["added"].values())
    given = {one.content: one.given for one in facts.added_tokens}
    assert given == library["added"]
    special = {one.role: one.tokenizer for one in facts.special}
    assert special == {role: (id_,) for role, id_ in library["special"].items() if id_ is not None}
    limit = library["model_max_length"]
    assert facts.context.model_max_length == (None if limit > 10**20 else limit)


@pytest.mark.parametrize("name", NAMES)
def test_templates(name: str, tmp_path: Path) -> None:
    facts, library = facts_of(name, tmp_path)
    assert {one.name for one in facts.templates} == set(library["templates"])
    for one in facts.templates:
        said = library["templates"][one.name]
        works = {role for role, result in said["roles"].items() if result is True}
        taken = set(said["roles"]) if one.any_role else set(one.roles)
        assert taken - set(one.refused) == works
        assert one.tools == said["tools"]
        assert bool(one.thinking) == said["thinking"]
        assert not one.problem


def test_only_what_is_odd_is_a_finding(tmp_path: Path) -> None:
    odd = {}
    for name in NAMES:
        (tmp_path / name).mkdir()
        findings = facts_of(name, tmp_path / name)[0].findings
        odd[name] = {one.rule for one in findings} - {"no-model"}
    assert {name: rules for name, rules in odd.items() if rules} == {
        "bpe-holes": {"added-token-id"},
        "wordlevel-named": {"template-token"},  # one template is of another tokenizer
    }


def test_a_hole_names_both_ids(tmp_path: Path) -> None:
    facts, library = facts_of("bpe-holes", tmp_path)
    text = next(one.text for one in facts.findings if "<|im_end|>" in one.text)
    stated = next(one.id for one in facts.added_tokens if one.content == "<|im_end|>")
    assert f"{stated:,}" in text
    assert f"{library['added']['<|im_end|>']:,}" in text


@pytest.mark.parametrize("number", range(len(IDS)))
def test_added_tokens_get_the_ids_of_the_library(number: int) -> None:
    case = IDS[number]
    model = {"type": "WordLevel", "vocab": case["vocab"]}
    data = json.dumps({"added_tokens": case["added"], "model": model}).encode()
    table = parse_tokenizer("tokenizer.json", data)
    assert {one.content: one.given for one in table.added if one.content} == case["given"]
    assert {**table.ids, **table.assigned_ids}.keys() == {*case["vocab"], *case["given"]}
    assert len(table.ids) == case["vocab_size"]
    assert len({**table.ids, **table.assigned_ids}) == case["tokens"]
