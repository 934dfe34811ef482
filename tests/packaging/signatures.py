"""What the public names are: signatures of functions, fields and methods of classes.

``python -m tests.packaging.signatures`` writes ``signatures.txt``. A review reads its differences:
a line that goes or changes may break somebody's program.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_origin

import hfinspect

FILE = Path(__file__).with_name("signatures.txt")


def lines() -> list[str]:
    """All public names in order, one line for each function, field, method and error."""
    rows: list[str] = []
    for name in sorted(set(hfinspect.__all__) - {"__version__", "errors"}):
        rows += described(name, getattr(hfinspect, name))
    for name, value in sorted(vars(hfinspect.errors).items()):
        if isinstance(value, type) and issubclass(value, hfinspect.HfinspectError):
            rows.append(f"errors.{name}({value.__mro__[1].__name__}) kind={value.kind!r}")
    return rows


def described(name: str, value: Any) -> Iterator[str]:
    if inspect.isfunction(value):
        yield f"{name}{inspect.signature(value)}"
    elif not isinstance(value, type) or get_origin(value):  # a name for a type
        yield f"{name} = {value}"
    elif hasattr(value, "_fields") or dataclasses.is_dataclass(value):
        yield f"{name}: {', '.join(fields_of(value))}"
        yield from methods(name, value)
    else:
        yield f"{name}"
        yield from methods(name, value)


def fields_of(value: Any) -> Iterator[str]:
    """``name: type``, with ``= ...`` where there is a default; as they are written."""
    if dataclasses.is_dataclass(value):
        for one in dataclasses.fields(value):
            missing = one.default is one.default_factory is dataclasses.MISSING
            yield f"{one.name}: {one.type}" + ("" if missing else " = ...")
    else:
        for name in value._fields:
            default = " = ..." if name in value._field_defaults else ""
            yield f"{name}: {_text(value.__annotations__[name])}{default}"


def _text(annotation: Any) -> str:
    """An annotation as it is written."""
    return str(getattr(annotation, "__forward_arg__", annotation))


def methods(name: str, value: type) -> Iterator[str]:
    """Public methods and properties of the class itself and of its bases among ours."""
    for attribute in sorted(dir(value)):
        if attribute.startswith("_") or attribute in getattr(value, "__dataclass_fields__", ()):
            continue
        member = inspect.getattr_static(value, attribute)
        owner = next(cls for cls in value.__mro__ if attribute in vars(cls))
        if not owner.__module__.startswith("hfinspect") or attribute in getattr(
            value, "_fields", ()
        ):
            continue
        if isinstance(member, (classmethod, staticmethod)):
            member = member.__func__
        if inspect.isfunction(member):
            yield f"{name}.{attribute}{inspect.signature(member)}"
        elif not hasattr(member, "_value_"):
            yield f"{name}.{attribute}"


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
