"""The JSON form of a result is its fields: ``to_dict`` and the schemas say no other."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import pytest

from hfinspect.core.json_form import JsonDocument, JsonForm, plain
from hfinspect.core.records import dataclass

from ..schema_files import Maker, files, keys_of
from ..schema_limits import LEAST, LIMITS, SIGNED
from ..schemas import FOLDER

FILES = files()


def classes(base: type[Any] = JsonForm) -> Iterator[type[Any]]:
    for one in base.__subclasses__():
        if one.__module__.startswith("hfinspect."):
            yield one
            yield from classes(one)


#: A device is in no document: ``NamedDevice`` is what was named. ``CacheInfo`` is a part of one.
WITHOUT_SCHEMA = ("JsonDocument", "Device", "CacheInfo")
#: Classes whose ``to_dict`` is written out, and why: of all others it is made of the fields.
WRITTEN_OUT = {
    "JsonForm": "makes it of the fields",
    "JsonDocument": "adds the version",
    "HasConfig": "a protocol for the config of another library",
    "HfinspectError": "an exception has no fields",
    "AccessError": "only where a server said something is there a key for it",
    "Inspection": "takes an argument, which adds the tensors",
    "Override": "holds any value of a caller, such as NaN, for which JSON has no word",
    "TensorInfo": "a tuple, for there may be a million, in an order of its own",
}
CLASSES = [one for one in classes() if one.__name__ not in WITHOUT_SCHEMA]


def test_no_other_form_is_written_out() -> None:
    """Neither by a class nor by a function of its own."""
    owners = {
        getattr(node, "name", path.name)
        for path in FOLDER.parent.rglob("*.py")
        if "to_dict(" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef | ast.Module)
        for one in node.body
        if isinstance(one, ast.FunctionDef) and one.name.endswith("to_dict")
    }
    assert owners == set(WRITTEN_OUT)


@pytest.mark.parametrize("name", FILES)
def test_a_schema_is_made_of_annotations_and_docstrings(name: str) -> None:
    """Meant to differ? Then ``python -m tests.schema_files``, and look at the difference."""
    assert (FOLDER / name).read_text(encoding="utf-8") == FILES[name]


def test_every_form_is_in_a_schema() -> None:
    required = [node["required"] for text in FILES.values() for node in objects(json.loads(text))]
    missing = []
    for cls in CLASSES:
        stated = ["schema_version"] if issubclass(cls, JsonDocument) else []
        keys = [*stated, *keys_of(cls)]
        if not any(keys == one[: len(keys)] for one in required):
            missing.append(cls.__name__)
    assert missing == []


def test_every_key_is_described() -> None:
    silent = [
        f"{cls.__name__}.{key}"
        for cls in CLASSES
        for key, made in Maker().object_of(cls)["properties"].items()
        if "description" not in made and key != "schema_version"
    ]
    assert silent == []


def objects(node: Any) -> Iterator[dict[str, Any]]:
    """Every object that has keys, at any depth."""
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict) and "required" in node:
            yield node
        for one in node.values():
            yield from objects(one)
    elif isinstance(node, list):
        for one in node:
            yield from objects(one)


def test_limits_are_of_keys_that_there_are() -> None:
    known = {f"{cls.__name__}.{key}" for cls in CLASSES for key in keys_of(cls)}
    named = {name for name in (*LIMITS, *SIGNED, *LEAST) if "." in name}
    assert named <= known
    assert not any("description" in limit for limit in LIMITS.values()), "of a field: its docstring"


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


@dataclass(frozen=True)
class Oven(JsonForm, after={"hot": "kind"}):
    """What cakes are baked in.

    Fields:
        kind: ``gas`` or None where it is not known, and what else
            there is to say
        trays [trays]: that fit; None without limit
        cakes: in it, by tray
        rate: of baking
    """

    kind: Literal["gas", "wood"] | None
    trays: int | None
    cakes: Mapping[str, Cake]
    rate: float | int | None = None

    @property
    def hot(self) -> bool:
        """Whether it may be used. Not more."""
        return True


def test_a_schema_says_what_annotations_and_docstrings_say() -> None:
    maker = Maker()
    made = maker.object_of(Oven)
    assert made["required"] == ["kind", "hot", "trays", "cakes", "rate"]
    assert made["properties"] == {
        "kind": {
            "enum": ["gas", "wood", None],
            "description": "gas or null where it is not known, and what else there is to say",
        },
        "hot": {"type": "boolean", "description": "Whether it may be used"},
        "trays": {
            "type": ["integer", "null"],
            "minimum": 0,
            "description": "trays: that fit; null without limit",
        },
        "cakes": {
            "type": "object",
            "additionalProperties": {"$ref": "#/$defs/Cake"},
            "description": "in it, by tray",
        },
        "rate": {"type": ["number", "null"], "description": "of baking"},
    }
    assert list(maker.classes) == ["Cake"]
    assert maker.classes["Cake"]["properties"]["below"] == {
        "anyOf": [{"$ref": "#/$defs/Cake"}, {"type": "null"}]
    }
