"""What some types do otherwise than most in a pass of transformers: pass_types.json, whose tables
say what they are."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from ...core import data_files
from ...core.once import once_each
from ..workspace import WorkspaceLimit


@cache
def values_of(table: str) -> Mapping[str, Any]:
    """Model type -> its value; of a table that only names types True."""
    types = data_files.read(__package__, "pass_types.json")[table]["types"]
    rows = {types: True} if isinstance(types, str) else types
    return {name: value for names, value in rows.items() for name in names.split()}


def text_of(limit: WorkspaceLimit) -> Mapping[str, Any]:
    """The config, or its part for texts."""
    text = limit.config.get("text_config")
    return text if isinstance(text, Mapping) else limit.config


@once_each
def types_of(limit: WorkspaceLimit) -> tuple[str, str]:
    """The model type, and that of the decoder within."""
    text = text_of(limit)
    inner = text.get("model_type") if text is not limit.config else None
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
    sides, more = value_of(limit, "grown", ()), number_of(limit, "pad_token_id", 1) + 3
    lengths = [
        n + more
        for n, (key, usual) in zip(prompts, sides, strict=False)
        if n + more > number_of(limit, key, usual)
    ]
    return sum(lengths) * limit.token_table[1] * limit.size
