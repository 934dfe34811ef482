"""Which values the config classes of transformers refuse, recorded from them.

``refused_values.json`` is written by tests/oracle/record_refused_values.py, whose docstring says
what each table is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from . import data_files
from .config_keys import fields_of


@cache
def _recorded() -> Mapping[str, Any]:
    tables = data_files.read(__package__, "refused_values.json")
    return {key: frozenset(row) if isinstance(row, list) else row for key, row in tables.items()}


def is_in(table: str, model_type: str) -> bool:
    """Whether a model_type is in a table that lists such: ``rope``, ``grouped``, ..."""
    return model_type in _recorded()[table]


def looked_up_activations(model_type: str) -> tuple[str, ...]:
    """Keys that the code of a model_type looks up among the activations."""
    return tuple(_recorded()["activations"].get(model_type, ()))


def usual_kinds() -> Mapping[str, str]:
    """Field -> letters of the kinds of values that most classes take for it."""
    usual: Mapping[str, str] = _recorded()["kinds"]
    return usual


def kinds_of(model_type: str, field: str) -> str | None:
    """Letters of the kinds that a field takes in the class of a model_type; None where the class
    has no such field."""
    tables = _recorded()
    other = tables["others"].get(model_type, {}).get(field)
    if other is not None:
        return str(other)
    usual = tables["kinds"].get(field)
    return usual if usual is not None and field in fields_of(model_type) else None


def other_kinds(model_type: str) -> Mapping[str, str]:
    """Fields of the class of a model_type that take other kinds than most classes do."""
    others: Mapping[str, str] = _recorded()["others"].get(model_type, {})
    return others


def kind_of_value(value: object) -> str:
    """The letter of a value's kind, as the recorder names them."""
    if value is None:
        return "n"
    if isinstance(value, list):
        return _kind_of_list(value)
    return _LETTERS.get(type(value), "d")


_LETTERS: Mapping[type, str] = {bool: "b", int: "i", float: "f", str: "s", dict: "d"}
_OF_LISTS: Mapping[type, str] = {bool: "B", int: "I", float: "F", str: "S"}
#: Letters of any list.
LISTS = frozenset("eBIFSL")


def _kind_of_list(values: list[object]) -> str:
    if not values:
        return "e"
    types = {type(value) for value in values}
    return _OF_LISTS.get(types.pop(), "L") if len(types) == 1 else "L"


def takes(letters: str, value: object) -> bool:
    """Whether a field that takes these kinds takes the value; what was not tried counts as taken:
    lists of several kinds, and lists in lists."""
    kind = kind_of_value(value)
    if kind == "L" or (kind in LISTS and "L" in letters):
        return not LISTS.isdisjoint(letters)
    return kind in letters
