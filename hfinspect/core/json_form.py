"""The JSON form of a dataclass: its fields, each written once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Final, get_type_hints

#: Version of every JSON form (schemas/*.json): the major number changes when a field changes its
#: meaning or goes.
SCHEMA_VERSION: Final = "2.0"


class JsonForm:
    """A dataclass whose JSON form has the names of its fields, in their order.

    Where the form differs, the class says so: ``without`` are fields that it leaves out, ``names``
    is field or property -> its key, ``after`` is key -> the key that it follows. A key of ``names``
    or ``after`` that no field has is a property, or a part of a field (``origin.commit``). ``flat``
    is a field that gives its keys in place of its own; floats have ``digits`` after the point.
    """

    __slots__ = ()
    _without: ClassVar[tuple[str, ...]] = ()
    _names: ClassVar[Mapping[str, str]] = {}
    _after: ClassVar[Mapping[str, str]] = {}
    _flat: ClassVar[str] = ""
    _digits: ClassVar[int | None] = None

    def __init_subclass__(
        cls,
        *,
        without: str = "",
        names: Mapping[str, str] | None = None,
        after: Mapping[str, str] | None = None,
        flat: str = "",
        digits: int | None = None,
    ) -> None:
        super().__init_subclass__()
        cls._without = tuple(without.split())
        cls._names = names or {}
        cls._after = after or {}
        cls._flat = flat
        cls._digits = digits

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        cls: Any = type(self)
        values = {key: attrgetter(name)(self) for key, name in json_keys(cls).items()}
        return {key: plain(value, cls._digits) for key, value in values.items()}


class JsonDocument(JsonForm):
    """A result that is a document of its own: it states the version of its schema."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form (schema version ``SCHEMA_VERSION``)."""
        return {"schema_version": SCHEMA_VERSION, **super().to_dict()}


@cache
def json_keys(cls: Any) -> Mapping[str, str]:
    """Key of the JSON form -> the field or property that it has, in the order of the form."""
    names = {one.name for one in fields(cls)}
    keys: dict[str, str] = {}
    for one in fields(cls):
        if one.name == cls._flat:
            inner = json_keys(get_type_hints(cls)[one.name])
            keys |= {key: f"{one.name}.{name}" for key, name in inner.items()}
        elif one.name not in cls._without:
            keys[cls._names.get(one.name, one.name)] = one.name
    computed = {key: name for name, key in cls._names.items() if name not in names}
    order = [key for key in keys if key not in cls._after]
    for key, before in cls._after.items():
        order.insert(order.index(before) + 1 if before else 0, key)
    return {key: keys.get(key) or computed.get(key, key) for key in order}


def plain(value: Any, digits: int | None = None) -> Any:
    """A value as JSON has it: lists for tuples, objects for mappings and results. ``digits`` are
    those of a float after the point."""
    if isinstance(value, float) and digits is not None:
        return round(value, digits)
    if value is None or isinstance(value, (str, int, float)):
        return value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value]
