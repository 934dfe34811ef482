"""What the process that builds a class says, checked like anything else that comes from outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ..core.config import MAX_DIM
from ..core.nesting import loads
from ..core.records import dataclass
from ..core.text import clean
from ..errors import ConfigError
from ..trees.modules import Shape

#: Twice as many tensors as the largest models have.
MAX_TENSORS: Final = 1_000_000
#: Characters of a name, and pieces between its dots.
MAX_NAME: Final = 4_096
MAX_DEPTH: Final = 64
#: torch's own limit.
MAX_DIMENSIONS: Final = 64


@dataclass(frozen=True)
class Built:
    """A class that was built.

    Fields:
        architecture: its name
        model_type: of its config; empty where that has none
        version: of transformers
        tensors: name -> (shape, is a parameter), of what a save writes
        tied: name left out -> (name kept, shape)
        modules: path -> name of the class
    """

    architecture: str
    model_type: str
    version: str
    tensors: dict[str, tuple[Shape, bool]]
    tied: dict[str, tuple[str, Shape]]
    modules: dict[str, str]


@dataclass(frozen=True)
class BuildRefused:
    """The error that transformers raised, and its version."""

    why: str
    version: str


@dataclass(frozen=True)
class NoSuchClass:
    """transformers has no such class."""


@dataclass(frozen=True)
class Exhausted:
    """The memory that the process may take did not do."""


BuildAnswer = Built | BuildRefused | NoSuchClass | Exhausted


def parsed(text: bytes) -> BuildAnswer:
    """The answer. Raises ConfigError where it is none."""
    try:
        answer = loads(text, MAX_DEPTH)
    except (ValueError, RecursionError):
        raise _broken("is not JSON") from None
    if not isinstance(answer, dict):
        raise _broken("is not an object")
    if answer == {"unknown": True}:
        return NoSuchClass()
    if answer == {"exhausted": True}:
        return Exhausted()
    if answer.keys() == {"refused", "version"}:
        return BuildRefused(_text(answer["refused"], 300), _text(answer["version"], 100))
    if answer.keys() != set(Built.__dataclass_fields__):
        raise _broken("has other keys")
    return _built(answer)


def _built(answer: dict[str, Any]) -> Built:
    tensors: dict[str, tuple[Shape, bool]] = {}
    for name, shape, is_parameter in _rows(answer["tensors"]):
        if not isinstance(is_parameter, bool):
            raise _broken("has a tensor that is neither a parameter nor a buffer")
        tensors[_name(name)] = _shape(shape), is_parameter
    tied: dict[str, tuple[str, Shape]] = {}
    for name, keeper, shape in _rows(answer["tied"]):
        tied[_name(name)] = _name(keeper), _shape(shape)
    _check_places([*tensors, *tied])
    modules = answer["modules"]
    if not isinstance(modules, dict) or len(modules) > MAX_TENSORS:
        raise _broken("has no modules")
    return Built(
        architecture=_class_name(answer["architecture"]),
        model_type=_text(answer["model_type"], 200),
        version=_text(answer["version"], 100),
        tensors=tensors,
        tied=tied,
        modules={path: _class_name(name) for path, name in modules.items()},
    )


def _rows(rows: object) -> Iterator[list[Any]]:
    if not isinstance(rows, list) or len(rows) > MAX_TENSORS:
        raise _broken("has no list of tensors")
    for row in rows:
        if not isinstance(row, list) or len(row) != 3:
            raise _broken("has a tensor of another form")
        yield row


def _name(name: object) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise _broken("has a tensor without a name")
    segments = name.split(".")
    if not all(segments) or len(segments) > MAX_DEPTH:
        raise _broken(f"has a tensor called {clean(name)!r}")
    return name


def _shape(shape: object) -> Shape:
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
        raise _broken("has a tensor without a shape")
    for size in shape:
        if type(size) is not int or not 0 <= size <= MAX_DIM:
            raise _broken(f"has a tensor with a side of {clean(repr(size))}")
    return tuple(shape)


def _check_places(names: list[str]) -> None:
    """Each name stands once, and no tensor inside another."""
    if len(set(names)) != len(names):
        raise _broken("has a name twice")
    inner = {name[:at] for name in names for at, sign in enumerate(name) if sign == "."}
    if inner & set(names):
        raise _broken("has a tensor inside a tensor")


def _class_name(name: object) -> str:
    if not isinstance(name, str) or len(name) > 200 or not name.isidentifier():
        raise _broken("has a class without a name")
    return name


def _text(text: object, most: int) -> str:
    if not isinstance(text, str) or len(text) > most:
        raise _broken("has a text of another form")
    return clean(text, most)


def _broken(why: str) -> ConfigError:
    return ConfigError(
        "config.json",
        f"could not be built by transformers: the answer of the process {why}",
        hint="a checkpoint's headers are read without it",
    )
