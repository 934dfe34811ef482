"""What some types do otherwise than most in a pass of transformers: pass_types.json, whose tables
say what they are."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

from ...core import data_files
from ...core.model_facts import ModelFacts
from ...core.once import once_each
from ...trees.modules import Module
from ..workspace import WorkspaceLimit


@cache
def values_of(table: str) -> Mapping[str, Any]:
    """Model type -> its value; of a table that only names types True."""
    types = data_files.read(__package__, "pass_types.json")[table]["types"]
    rows = {types: True} if isinstance(types, str) else types
    return {name: value for names, value in rows.items() for name in names.split()}


def text_of(limit: WorkspaceLimit) -> Mapping[str, Any]:
    """The config, or its part for texts."""
    return section(limit, "text_config") or limit.config


def section(limit: WorkspaceLimit, key: str) -> Mapping[str, Any]:
    """A part of the config, empty where it has none."""
    part = limit.config.get(key)
    return part if isinstance(part, Mapping) else {}


@once_each
def types_of(limit: WorkspaceLimit) -> tuple[str, str]:
    """The model type, and that of the decoder within."""
    inner = section(limit, "text_config").get("model_type")
    usual = values_of("within").get(limit.name, f"{limit.name}_text")
    return limit.name, str(inner or usual)


def value_of(limit: WorkspaceLimit, table: str, usual: Any = False) -> Any:
    """What a table has for the type; ``usual`` where it has none."""
    values = values_of(table)
    return next((values[name] for name in types_of(limit) if name in values), usual)


def number(value: Any, usual: int) -> int:
    """What a config says, where that is a number above 0."""
    return value if type(value) is int and value > 0 else usual


def number_of(limit: WorkspaceLimit, key: str, usual: int) -> int:
    """A number of the config, or of its part for texts."""
    return number(text_of(limit).get(key), usual)


def grown(limit: WorkspaceLimit, *prompts: int) -> Fraction:
    """Bytes of the tables of positions that are made anew for so many tokens, and stay."""
    sides = value_of(limit, "grown", ())
    more = number_of(limit, "pad_token_id", 1) + 3
    lengths = [
        n + more
        for n, (key, usual) in zip(prompts, sides, strict=False)
        if n + more > number_of(limit, key, usual)
    ]
    return sum(lengths) * limit.token_table[1] * limit.size


def is_eager(name: str) -> bool:
    """Whether a type computes its scores whole where nobody chose a kernel."""
    return name in values_of("without_sdpa") or name in values_of("falls_back")


@once_each
def pair(limit: WorkspaceLimit) -> tuple[WorkspaceLimit, ...]:
    """The encoder and the decoder that a model pairs, each as a model of its own; none where that
    is not known of both."""
    source = section(limit, "encoder")
    target = section(limit, "decoder")
    kind = str(source.get("model_type"))
    other = str(target.get("model_type"))
    known = kind in values_of("pairs").get(limit.name, "").split() and other in values_of("paired")
    plain = values_of("plain")
    known &= all(
        plain.get(key, value) == value for key, value in (*source.items(), *target.items())
    )
    known &= all(number(source.get(key, 1), 0) for key in ("image_size", "patch_size"))
    heads, width = (number(source.get(key), 0) for key in ("num_attention_heads", "hidden_size"))
    encoder, decoder = (limit.root.children.get(side) for side in ("encoder", "decoder"))
    known = known and heads > 0 and width > 0
    if not (known and isinstance(encoder, Module) and isinstance(decoder, Module)):
        return ()
    of_encoder = ModelFacts(heads=heads, width=width)
    of_decoder = replace(limit.facts, heads=limit.facts.decoder_heads or limit.facts.heads)
    alone = replace(limit, encodes=False)
    return (
        replace(alone, root=encoder, facts=of_encoder, name=kind, config=source),
        replace(alone, root=decoder, facts=of_decoder, name=other, config=target),
    )
