"""The JSON form of a result is its fields: ``to_dict`` and the schemas say no other."""

from __future__ import annotations

import importlib
import inspect
import json
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import pytest

import hfinspect
from hfinspect.core.json_form import JsonDocument, JsonForm, json_keys, plain
from hfinspect.core.records import dataclass

from ..schemas import FOLDER

PACKAGE = Path(hfinspect.__file__).parent


def classes(base: type[Any] = JsonForm) -> Iterator[type[Any]]:
    """Those of the package that have a form, of all rooms that results come from."""
    importlib.import_module("hfinspect.analysis.differences")
    for path in sorted((PACKAGE / "core").glob("*.py")):
        importlib.import_module(f"hfinspect.core.{path.stem}")
    for one in base.__subclasses__():
        if one.__module__.startswith("hfinspect."):
            yield one
            yield from classes(one)


def nodes() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of every schema, with where it is."""

    def below(where: str, node: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        if isinstance(node, dict):
            if isinstance(node.get("properties"), dict):
                yield where, node
            for name, one in node.items():
                yield from below(f"{where}/{name}", one)
        elif isinstance(node, list):
            for one in node:
                yield from below(where, one)

    for path in sorted(FOLDER.glob("*.json")):
        yield from below(path.name, json.loads(path.read_text(encoding="utf-8")))


NODES = list(nodes())
#: Of an inspection, where all tensors are listed.
_OPTIONAL = {"tensors"}
CLASSES = sorted(
    (one for one in classes() if one is not JsonDocument), key=lambda one: one.__name__
)


def type_of(cls: type[Any], name: str) -> Any:
    """The annotation of a field, of a part of it, or what a property returns."""
    name, _, part = name.partition(".")
    if name in {one.name for one in fields(cls)}:
        hint = _hints(cls)[name]
    else:
        made = inspect.getattr_static(cls, name)
        getter = made.func if isinstance(made, cached_property) else made.fget
        hint = _hints(getter)["return"]
    return type_of(hint, part) if part else hint


def _hints(thing: Any) -> dict[str, Any]:
    """What is imported for types only is as good as any other result."""
    known = {"Formula": JsonForm, "TokenizerFacts": JsonForm, "Inventory": JsonForm}
    return typing.get_type_hints(thing, None, known)


def json_types(hint: Any) -> set[str]:
    """The types that a schema names for an annotation."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return set().union(*map(json_types, get_args(hint)))
    if origin is typing.Literal:
        return {"string"}
    kind = origin or hint
    if hasattr(kind, "_fields"):
        return {"object"}
    for base, name in (
        (type(None), "null"),
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (JsonForm, "object"),
        (Mapping, "object"),
        (tuple, "array"),
    ):
        if inspect.isclass(kind) and issubclass(kind, base):
            return {name}
    return {"object"} if hasattr(kind, "to_dict") else {"array"}


def said_types(node: dict[str, Any], schema: dict[str, Any]) -> set[str]:
    """The types that a property of a schema takes."""
    if "$ref" in node:
        target: Any = schema
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        return said_types(target, schema)
    for word in ("anyOf", "oneOf"):
        if word in node:
            return set().union(*(said_types(one, schema) for one in node[word]))
    if "enum" in node:
        return {"null" if one is None else "string" for one in node["enum"]}
    if "const" in node:
        return {"string"}
    kinds = node.get("type", [])
    return {kinds} if isinstance(kinds, str) else set(kinds)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda one: one.__name__)
def test_the_schema_of_a_class_is_that_of_its_fields(cls: type[Any]) -> None:
    of_class: Any = cls
    keys = dict(json_keys(of_class))
    stated = {"schema_version"} if issubclass(cls, JsonDocument) else set()
    found = [
        (where, node) for where, node in NODES if {*node.get("required", ())} == {*keys, *stated}
    ]
    assert found, "no schema has an object with these keys"
    for where, node in found:
        schema = json.loads((FOLDER / where.partition("/")[0]).read_text(encoding="utf-8"))
        assert {*node["properties"]} - {*keys, *stated} <= _OPTIONAL, where
        for key, name in keys.items():
            expected = json_types(type_of(cls, name))
            if "number" in expected:  # which an integer is too
                expected -= {"integer"}
            assert said_types(node["properties"][key], schema) == expected, f"{where}: {key}"


@dataclass(frozen=True)
class Cake(
    JsonForm,
    without="secret",
    names={"flavour": "taste", "half": "portion"},
    after={"portion": "taste", "whole": ""},
):
    flavour: str
    layers: tuple[str, ...] = ()
    toppings: Mapping[str, int] | None = None
    below: Cake | None = None
    secret: str = "salt"

    @property
    def half(self) -> int:
        return len(self.layers) // 2

    @property
    def whole(self) -> bool:
        return True


def test_a_form_that_differs_from_the_fields() -> None:
    cake = Cake("plum", ("a", "b"), {"nuts": 3}, Cake("rye"))
    assert json.dumps(cake.to_dict()) == json.dumps(
        {
            "whole": True,
            "taste": "plum",
            "portion": 1,
            "layers": ["a", "b"],
            "toppings": {"nuts": 3},
            "below": {
                "whole": True,
                "taste": "rye",
                "portion": 0,
                "layers": [],
                "toppings": None,
                "below": None,
            },
        }
    )
    assert plain([(1, None), {"a": (2.5, "x")}]) == [[1, None], {"a": [2.5, "x"]}]
