"""The JSON schemas that are shipped, made of the annotations of results and of the ``Fields:`` of
their docstrings.

``python -m tests.schema_files`` writes ``hfinspect/schemas/``. What no annotation says (the words
of a text, patterns) is in ``schema_limits.py``, documents without a class in
``schema_documents.py``.
"""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from functools import cached_property
from typing import Any, Union, get_args, get_origin

import hfinspect
from hfinspect.auditing.facts.target import TargetFacts
from hfinspect.auditing.registry import Rule
from hfinspect.core.json_form import SCHEMA_VERSION, JsonDocument, JsonForm, json_keys
from hfinspect.core.tensor import TENSOR_KEYS, TensorInfo

from .python_fields import Line, fields_of_docstring
from .schema_limits import LEAST, LIMITS, SIGNED
from .schemas import FOLDER

Schema = dict[str, Any]

#: Types of JSON by the annotation.
_PLAIN: Mapping[Any, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
}
#: Longest line of a file in which an object stands whole.
_WIDTH = 118


class Maker:
    """One schema, with the classes that it refers to."""

    def __init__(self) -> None:
        self.classes: dict[str, Schema] = {}
        #: The class of the document, where it is one.
        self.root: Any = None

    def document(self, title: str, description: str, body: Schema) -> str:
        """The text of a file."""
        whole: Schema = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": f"hfinspect {title}, version {SCHEMA_VERSION}",
            "description": description,
            **body,
        }
        if self.classes:
            whole["$defs"] = dict(sorted(self.classes.items()))
        return _written(whole) + "\n"

    def object_of(self, cls: Any) -> Schema:
        """The object that a class is in JSON."""
        properties: Schema = {}
        if issubclass(cls, JsonDocument):
            properties["schema_version"] = {"const": SCHEMA_VERSION}
        for key, name in keys_of(cls).items():
            properties[key] = self._property(cls, key, name, _line(cls, name))
        return object_with(**properties)

    def _property(self, cls: Any, key: str, name: str, line: Line | None) -> Schema:
        limit = LIMITS.get(f"{cls.__name__}.{key}", {})
        hint = type_of(cls, name)
        made = dict(limit) if {"enum", "type", "$ref"} & set(limit) else self.schema_of(hint)
        if "integer" in _kinds(made) and f"{cls.__name__}.{key}" not in SIGNED:
            made["minimum"] = LEAST.get(f"{cls.__name__}.{key}", LEAST.get(cls.__name__, 0))
        made |= limit
        text = _description(cls, name, line)
        return {**made, "description": text} if text else made

    def schema_of(self, hint: Any) -> Schema:
        """What an annotation allows."""
        origin = get_origin(hint)
        inner = get_args(hint)
        if hint is Any or hint is object:
            return {}
        if origin in (Union, types.UnionType):
            return self._either([self.schema_of(one) for one in inner])
        if origin is typing.Literal:
            return {"enum": list(inner)}
        kind = origin or hint
        if kind in _PLAIN:
            return {"type": _PLAIN[kind]}
        if _has_form(kind):
            return self._reference(kind)
        if inspect.isclass(kind) and issubclass(kind, Enum):
            return {"enum": [one.value for one in kind]}
        if inspect.isclass(kind) and issubclass(kind, Mapping | dict):
            return {"type": "object", "additionalProperties": self._counted(inner[1])}
        if inspect.isclass(kind) and issubclass(kind, str):
            return {"type": "string"}
        assert inner, f"{hint} has no form"
        return {"type": "array", "items": self._counted(inner[0])}

    def _counted(self, hint: Any) -> Schema:
        """What is in a list or an object: numbers there are counts."""
        return {"type": "integer", "minimum": 0} if hint is int else self.schema_of(hint)

    def _either(self, parts: list[Schema]) -> Schema:
        if {"type": "number"} in parts:  # which an integer is too
            parts = [part for part in parts if part != {"type": "integer"}]
        if all(set(part) == {"type"} for part in parts):
            return {"type": [part["type"] for part in parts]}
        if any("enum" in part for part in parts) and {"type": "null"} in parts:
            words = [word for part in parts for word in part.get("enum", ())]
            return {"enum": [*words, None]}
        *some, last = parts
        if last == {"type": "null"} and len(some) == 1 and isinstance(some[0].get("type"), str):
            return {**some[0], "type": [some[0]["type"], "null"]}
        return {"anyOf": parts}

    def _reference(self, cls: Any) -> Schema:
        if cls is self.root:
            return {"$ref": "#"}
        name = cls.__name__
        if name not in self.classes:
            self.classes[name] = {}  # a class may hold itself
            self.classes[name] = LIMITS[name] if name in LIMITS else self.object_of(cls)
        return {"$ref": f"#/$defs/{name}"}


def _has_form(kind: Any) -> bool:
    return inspect.isclass(kind) and (hasattr(kind, "to_dict") or hasattr(kind, "_fields"))


def keys_of(cls: Any) -> Mapping[str, str]:
    """Key -> field or property, in the order of the JSON."""
    if cls is TensorInfo:
        return TENSOR_KEYS
    if issubclass(cls, JsonForm):
        return json_keys(cls)
    if hasattr(cls, "_fields"):
        return {name: name for name in cls._fields}
    return {one.name: one.name for one in fields(cls)}


def type_of(cls: Any, name: str) -> Any:
    """The annotation of a field or of a part of it (``origin.commit``), or what a property
    returns."""
    name, _, part = name.partition(".")
    hints = _hints(cls)
    if name in hints:
        hint = hints[name]
    else:
        made = inspect.getattr_static(cls, name)
        getter = made.func if isinstance(made, cached_property) else made.fget
        hint = _hints(getter)["return"]
    return type_of(hint, part) if part else hint


def _hints(thing: Any) -> dict[str, Any]:
    """Annotations; what is imported for types only is public, or of a rule."""
    public = {name: getattr(hfinspect, name) for name in hfinspect.__all__}
    of_rules = {"Rule": Rule, "TargetFacts": TargetFacts}
    return typing.get_type_hints(thing, None, {**vars(hfinspect.errors), **public, **of_rules})


def _line(cls: Any, name: str) -> Line | None:
    """What the docstring of a class says of a field, or of a part of it that of the part's."""
    name, _, part = name.partition(".")
    if part:
        return _line(type_of(cls, name), part)
    return next((line for line in fields_of_docstring(cls) if line.name == name), None)


def _kinds(made: Schema) -> list[str]:
    kinds = made.get("type", [])
    return [kinds] if isinstance(kinds, str) else kinds


def _description(cls: Any, name: str, line: Line | None) -> str:
    """A line of ``Fields:``, or the first sentence about a property, in the words of JSON."""
    if line is None:
        own = vars(cls).get(name)
        getter = getattr(own, "fget", None) or getattr(own, "func", None)
        text = re.split(r"\.(?:\s|$)", inspect.getdoc(getter) or "")[0] if getter else ""
    else:
        text = f"{line.unit}: {line.meaning}" if line.unit else line.meaning
    for python, word in (("None", "null"), ("True", "true"), ("False", "false")):
        text = re.sub(rf"\b{python}\b", word, text)
    return " ".join(text.replace("``", "").split())


def object_with(**properties: Any) -> Schema:
    """An object that has these keys, and no others."""
    return {
        "type": "object",
        "required": list(properties),
        "additionalProperties": False,
        "properties": properties,
    }


def _written(value: Any, indent: int = 0, before: int = 0) -> str:
    """JSON in which what fits into a line stands in one."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(line) + indent + before <= _WIDTH:
        return line
    blank = " " * (indent + 2)
    if isinstance(value, list):
        inner = [blank + _written(one, indent + 2, 1) for one in value]
        if all(isinstance(one, str) for one in value):
            inner = _filled([json.dumps(one, ensure_ascii=False) for one in value], blank)
        return "[\n" + ",\n".join(inner) + "\n" + " " * indent + "]"
    parts = [
        f"{blank}{json.dumps(key)}: {_written(one, indent + 2, len(key) + 5)}"
        for key, one in value.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"


def _filled(words: list[str], blank: str) -> list[str]:
    rows = [blank + words[0]]
    for word in words[1:]:
        if len(rows[-1]) + len(word) + 3 > _WIDTH:
            rows.append(blank + word)
        else:
            rows[-1] += f", {word}"
    return rows


def files() -> dict[str, str]:
    """Name -> text of each schema."""
    from .schema_documents import DOCUMENTS

    return {f"{name}.schema.json": make(Maker()) for name, make in DOCUMENTS.items()}


def main() -> None:
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
