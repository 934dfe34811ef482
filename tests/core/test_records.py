"""Dataclasses made lazily are those of the standard library."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.core import records

values = st.one_of(st.none(), st.integers(-3, 3), st.text(max_size=2))


class Plain:
    """Nothing but fields."""

    a: object
    b: object = 1
    c: list[object] = field(default_factory=list, hash=False)


class Odd:
    """Every kind of field."""

    kept: object
    uncompared: object = field(default=None, compare=False)
    unseen: object = field(default=0, repr=False)
    named: object = field(default=3, kw_only=True)
    made: object = field(default=4, init=False)
    fresh: list[object] = field(default_factory=list, init=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "made", self.kept)


class Own:
    """A class that says itself what equal is."""

    a: object = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    def __hash__(self) -> int:
        return 7


def both(cls: type[Any], frozen: bool = True, **options: bool) -> tuple[type[Any], type[Any]]:
    """The same class by the standard decorator and by ours."""
    lazily: Callable[..., Any] = records.dataclass
    made: list[type[Any]] = []
    for decorator in (dataclasses.dataclass, lazily):
        copy = type(cls.__name__, cls.__bases__, dict(cls.__dict__))
        made.append(decorator(frozen=frozen, **options)(copy))
    return made[0], made[1]


PAIRS = [both(Plain), both(Odd), both(Own), both(Plain, eq=False), both(Plain, repr=False)]
PAIRS += [both(Plain, False), both(Odd, False), both(Own, False), both(Plain, False, eq=False)]


def tried(call: Callable[[], Any]) -> Any:
    """A value, or which error."""
    try:
        return call()
    except (TypeError, AttributeError) as error:
        return type(error)


def described(cls: type[Any], arguments: list[object], named: dict[str, object]) -> list[object]:
    """Whatever can be seen of an instance."""
    one = tried(lambda: cls(*arguments, **named))
    if isinstance(one, type):
        return [one]
    other = cls(*arguments, **named)
    none = object()
    changed = tried(lambda: dataclasses.replace(one, a=5))
    shown = repr(one)
    return [
        "object at" in shown or shown,
        one == other,
        one == none,
        "object at" in repr(changed) or repr(changed),
        one != changed,
        tried(lambda: hash(one) == hash(other)),
        dataclasses.asdict(one),
        tried(lambda: setattr(one, "a", 1)),
        tried(lambda: setattr(one, "unknown", 1)),
        tried(lambda: delattr(one, "a")),
        [(f.name, f.type, f.default, f.init, f.repr, f.compare) for f in dataclasses.fields(cls)],
    ]


@given(
    st.sampled_from(PAIRS),
    st.lists(values, max_size=4),
    st.dictionaries(st.sampled_from(["a", "b", "c", "kept", "named", "made"]), values, max_size=3),
)
def test_as_the_standard_decorator(
    pair: tuple[type[Any], type[Any]], arguments: list[object], named: dict[str, object]
) -> None:
    standard, ours = pair
    assert described(ours, arguments, named) == described(standard, arguments, named)


@records.dataclass(frozen=True)
class Base:
    """Something to derive from."""

    a: int = 1


@records.dataclass(frozen=True)
class Derived(Base):
    """With one field more."""

    b: int = 2


def test_derived_classes_have_the_fields_of_both() -> None:
    assert Derived(3) == Derived(3, 2) != Base(3)
    assert repr(Derived(3)) == "Derived(a=3, b=2)"
    assert pickle.loads(pickle.dumps(Derived(3, 4))) == Derived(3, 4)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'a'"):
        Derived().a = 2  # type: ignore[misc]


def test_others_take_the_standard_decorator() -> None:
    with pytest.raises(TypeError, match="standard"):
        records.dataclass(frozen=True, slots=True)(Plain)
