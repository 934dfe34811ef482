"""The public types and their fields, read off docstrings and annotations, for docs/python.md."""

from __future__ import annotations

import ast
import inspect
import re
from typing import NamedTuple

import hfinspect
from hfinspect.core.model_facts import FACTS, ModelFacts

#: What a public signature may name and is not ours, or not for use: builtins, typing, abc.
FOREIGN = frozenset(
    """
    Any Callable Executor HfinspectError Iterable Iterator Literal Mapping PathLike Path Protocol
    Sequence TypeAlias Union api bool bytes dict float frozenset int list object os set str
    tuple None
    """.split()
)


#: ``name [unit]: meaning``, whose further lines stand deeper.
_FIELD = r"^    (\w+)(?: \[(.+?)\])?: (.+(?:\n {5,}.+)*)$"


class Line(NamedTuple):
    """A field as its class's docstring has it."""

    name: str
    unit: str
    meaning: str


def public_types() -> dict[str, list[str]]:
    """Name -> fields of each public type that is plain data."""
    fields_of = {}
    for name in hfinspect.__all__:
        thing = getattr(hfinspect, name)
        if inspect.isclass(thing) and thing.__module__.partition(".")[0] == "hfinspect":
            fields = getattr(thing, "__dataclass_fields__", None) or getattr(thing, "_fields", ())
            if fields and name not in ("Module", "Family", "Extent"):  # of the catalog's insides
                fields_of[name] = list(fields)
    return fields_of


def documented(name: str) -> list[Line]:
    """The lines below ``Fields:`` of a public class's docstring."""
    return fields_of_docstring(getattr(hfinspect, name))


def fields_of_docstring(thing: type) -> list[Line]:
    """The lines below ``Fields:`` of a class's docstring."""
    listed = (inspect.getdoc(thing) or "").partition("Fields:\n")[2]
    lines = [
        Line(m[1], m[2] or "", " ".join(m[3].split()))
        for m in re.finditer(_FIELD, listed, re.MULTILINE)
    ]
    if thing is ModelFacts:
        facts = [Line(field, unit, meaning) for field, (unit, meaning) in FACTS.items()]
        return [*facts, Line("keys", "", "field -> the key that it stands under")]
    return lines


def properties(name: str) -> list[Line]:
    """Public properties with the first sentence of their docstrings."""
    thing = getattr(hfinspect, name)
    lines = []
    for key, value in vars(thing).items():
        getter = getattr(value, "fget", None) or getattr(value, "func", None)
        if key[0] != "_" and getter is not None and inspect.isfunction(getter) and getter.__doc__:
            sentence = re.split(r"\.(?:\s|$)", inspect.cleandoc(getter.__doc__))[0]
            lines.append(Line(key, "", " ".join(sentence.split())))
    return lines


def _annotation(cls: type, field: str) -> str:
    """That of the class, or of the one that it has the field from."""
    own = (inspect.get_annotations(one) for one in cls.__mro__)
    return str(next(hints[field] for hints in own if field in hints))


def named_and_not_exported() -> dict[str, set[str]]:
    """Public name -> names in its signature or its fields that ``hfinspect`` does not export."""
    users = {}
    known = FOREIGN | set(hfinspect.__all__)
    for name in hfinspect.__all__:
        thing = getattr(hfinspect, name)
        if inspect.isfunction(thing):
            texts = list(thing.__annotations__.values())
        elif name in public_types():
            texts = [_annotation(thing, field) for field in public_types()[name]]
        else:
            continue
        words = {word for text in texts for word in _names(str(text))}
        if words - known:
            users[name] = words - known
    return users


def _names(annotation: str) -> set[str]:
    if annotation.startswith("ForwardRef("):
        annotation = ast.literal_eval(re.findall(r"'[^']*'", annotation)[0])
    tree = ast.parse(annotation, mode="eval")
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def tables() -> str:
    """All public types, each with a list of its fields."""
    parts = []
    for name in public_types():
        text = inspect.getdoc(getattr(hfinspect, name)) or ""
        first = re.split(r"(?<!et al)\.(?:\s|$)", " ".join(text.split("\n\n")[0].split()))[0]
        rows = [_row(line, line.unit) for line in documented(name)]
        rows += [_row(line, "property") for line in properties(name)]
        parts.append("\n".join([f"### {name}", "", first.replace("``", "`") + ".", "", *rows]))
    return "\n\n".join(parts)


def _row(line: Line, kind: str) -> str:
    return f"- `{line.name}`{f' ({kind})' if kind else ''}: {line.meaning.replace('``', '`')}"


def _plain(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")


def verbs() -> str:
    """The functions: signature and first sentence."""
    rows = ["| function | what it gives |", "| --- | --- |"]
    for name in hfinspect.__all__:
        thing = getattr(hfinspect, name)
        if inspect.isfunction(thing):
            text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
            gives = thing.__annotations__["return"]
            rows.append(f"| `{name}` -> `{_plain(str(gives))}` | {_plain(text)} |")
    return "\n".join(rows)
