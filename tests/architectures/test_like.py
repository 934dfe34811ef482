"""Families that are another with differences: what the records are made of."""

from __future__ import annotations

import ast
import dataclasses
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import hfinspect.architectures
from hfinspect.architectures.llama import LLAMA
from hfinspect.architectures.qwen2 import QWEN2
from hfinspect.core.config import ModelConfig
from hfinspect.layers.bert_encoders import Encoder
from hfinspect.layers.decoders import Decoder
from hfinspect.trees.config_defaults import rows
from hfinspect.trees.expand import expected_tensors

ROOM = Path(hfinspect.architectures.__file__).parent
RECORDS = {"Decoder", "Encoder"}


def _made(node: ast.AST) -> tuple[str | None, set[str]] | None:
    """Of a record or ``BASE.like(...)``, perhaps with ``.register(...)`` behind: the name of what
    it is like, and the fields said."""
    if not isinstance(node, ast.Call):
        return None
    called = node.func
    if isinstance(called, ast.Attribute) and called.attr == "register":
        return _made(called.value)
    fields = {keyword.arg for keyword in node.keywords if keyword.arg}
    if isinstance(called, ast.Attribute) and called.attr == "like":
        return ast.unparse(called.value), fields
    if isinstance(called, ast.Name) and called.id in RECORDS:
        return None, fields
    return None


@cache
def users() -> Counter[str]:
    """How many families say each field, in their file or their row, or are like one that does."""
    named: dict[str, tuple[str | None, set[str]]] = {}
    families: list[tuple[str | None, set[str]]] = []
    for path in sorted(ROOM.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            value = node.value if isinstance(node, (ast.Assign, ast.Expr)) else None
            made = None if value is None else _made(value)
            if made is None:
                continue
            families.append(made)
            if isinstance(node, ast.Assign):
                target = ast.unparse(node.targets[0])
                # A private name is its file's; no two public ones are the same.
                named[target] = made

    def fields(made: tuple[str | None, set[str]]) -> set[str]:
        base, own = made
        return own if base is None or base not in named else own | fields(named[base])

    in_rows = Counter(field for row in rows().values() for field in row)
    return in_rows + Counter(field for made in families for field in fields(made))


@pytest.mark.parametrize("record", [Decoder, Encoder])
def test_a_field_has_five_users(record: type[Decoder] | type[Encoder]) -> None:
    """Else it is a line in the one family, not a word in the vocabulary of all."""
    optional = [
        field.name
        for field in dataclasses.fields(record)
        if field.default is not dataclasses.MISSING
    ]
    assert {name: users()[name] for name in optional if users()[name] < 5} == {}


def test_differences_are_fields() -> None:
    with pytest.raises(TypeError, match="colour"):
        LLAMA.like("Odd", colour="red")


def test_another_with_differences() -> None:
    """Names, one size and a norm: nothing else is another tensor."""
    config = ModelConfig({"num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 4})
    plain, other = (
        {spec.name: spec for spec in expected_tensors(family.model(config))}
        for family in (LLAMA, LLAMA.like("Odd", vocab_size=99, qk_norm=True))
    )
    assert sorted(other.keys() - plain.keys()) == [
        "layers.0.self_attn.k_norm.weight",
        "layers.0.self_attn.q_norm.weight",
    ]
    differing = [name for name in plain if plain[name].shape != other[name].shape]
    assert differing == ["embed_tokens.weight"]
    assert QWEN2.like("Odd").model(config).class_name == "OddModel"
