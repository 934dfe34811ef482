"""Dataclasses whose methods are made when they are first needed.

The standard decorator writes and compiles six methods of each class while it is imported: a third
of the time that a small command takes, most of it for classes that it makes no instance of. Here
``__init__`` is compiled at the first instance, and the other methods are common to all classes.
Everything else is as there: ``fields``, ``replace``, ``asdict``, equality, hashes, representations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass

T = TypeVar("T")
_Method = Callable[..., Any]

#: How a field is set in a class that refuses it.
_SET: Final = object.__setattr__


def _record(
    *, frozen: bool = False, kw_only: bool = False, **without: bool
) -> Callable[[type[T]], type[T]]:
    """``dataclasses.dataclass``; ``eq`` and ``repr`` may be False."""
    if without.keys() - {"eq", "repr"}:
        raise TypeError("other dataclasses take the standard decorator")

    def decorated(cls: type[T]) -> type[T]:
        dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
        methods: dict[str, _Method | None] = {"__init__": _first_init(cls)}
        if frozen:
            methods["__setattr__"] = _refusing(cls, "assign to", "__setattr__")
            methods["__delattr__"] = _refusing(cls, "delete", "__delattr__")
        if without.get("repr", True):
            methods["__repr__"] = _shown
        if without.get("eq", True):
            methods["__eq__"], hash_of = _comparisons(cls)
            methods["__hash__"] = hash_of if frozen else None
        for name, method in methods.items():
            if cls.__dict__.get(name) is None:  # where it has an own __eq__, its hash is None
                setattr(cls, name, method)
        return cls

    return decorated


def _first_init(cls: Any) -> _Method:
    """An ``__init__`` that makes the real one take its place."""

    def first(self: Any, *values: Any, **keywords: Any) -> None:
        if cls.__init__ is first:
            cls.__init__ = _init_of(cls)
        cls.__init__(self, *values, **keywords)

    return first


def _init_of(cls: type[Any]) -> _Method:
    """What the standard decorator would make: arguments in the order of the fields, defaults."""
    known: dict[str, object] = {"_set": _SET, "_missing": dataclasses.MISSING}
    arguments: list[str] = ["self"]
    keyword_only: list[str] = []
    body: list[str] = []
    for at, one in enumerate(dataclasses.fields(cls)):
        value = one.name
        argument = one.name
        if one.default_factory is not dataclasses.MISSING:
            known[f"_new{at}"] = one.default_factory
            value = f"_new{at}() if {one.name} is _missing else {one.name}"
            argument += "=_missing"
        elif one.default is not dataclasses.MISSING:
            known[f"_default{at}"] = one.default
            argument += f"=_default{at}"
        if one.init:
            (keyword_only if one.kw_only else arguments).append(argument)
        elif argument != one.name:
            value = argument.partition("=")[2] if value == one.name else f"_new{at}()"
        else:
            continue
        body.append(f" _set(self, {one.name!r}, {value})")
    if keyword_only:
        arguments += ["*", *keyword_only]
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    text = f"def __init__({', '.join(arguments)}):\n" + "\n".join(body or [" pass"])
    exec(text, known)  # noqa: S102 - names of fields, which are identifiers
    init = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"  # type: ignore[attr-defined]
    return init  # type: ignore[return-value]


def _refusing(cls: type[Any], what: str, method: str) -> _Method:
    def refused(self: Any, name: str, *value: object) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise dataclasses.FrozenInstanceError(f"cannot {what} field {name!r}")
        getattr(super(cls, self), method)(name, *value)

    return refused


def _shown(self: Any) -> str:
    shown = [
        f"{one.name}={getattr(self, one.name)!r}" for one in dataclasses.fields(self) if one.repr
    ]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _comparisons(cls: type[Any]) -> tuple[_Method, _Method]:
    """``__eq__`` and ``__hash__``, of the fields that count for each."""
    every = dataclasses.fields(cls)
    compared = _values([one.name for one in every if one.compare])
    hashed = _values([one.name for one in every if (one.compare if one.hash is None else one.hash)])

    def equal(self: Any, other: object) -> Any:
        return compared(self) == compared(other) if type(other) is type(self) else NotImplemented

    def hash_of(self: Any) -> int:
        return hash(hashed(self))

    return equal, hash_of


def _values(names: list[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda _: ()


if not TYPE_CHECKING:
    dataclass = _record
