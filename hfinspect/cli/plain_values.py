"""Values of the command line that hardly need converting, without pydantic.

Versions of typer that are built on pydantic send every value through it, whatever its declaration,
and importing it takes longer than inspecting a small model. A text is what it is, and a path or a
whole number nearly so: those are made here. Whatever is not plainly right (``--jobs many``,
``--jobs 0``, an output that is there and may be read-only) goes to typer as before, so that the
values accepted and the errors are typer's own.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

#: A longer number is left to typer, which refuses it in its own words.
_MOST_DIGITS: Final = 15


class NotPlainError(Exception):
    """The value needs typer's own converting, or its error."""


class PlainValue(NamedTuple):
    """What a parameter of typer converts its values by: ``plain``, and ``typers`` for the rest."""

    plain: Callable[[Any], object]
    typers: Callable[[], Any]

    def coerce(self, value: Any, param: Any, ctx: Any) -> object:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        try:
            return self.plain(value)
        except NotPlainError:
            return self.typers().coerce(value, param=param, ctx=ctx)


def make_plain(parameters: Sequence[Any]) -> None:
    """Values of these parameters of a command are made here where they are plain.

    A version of typer that converts in another way is left as it is; it is as right, and a
    test of what gets imported says so.
    """
    for parameter in parameters:
        described = getattr(parameter, "type_descriptor", None)
        plain = _PLAIN.get(getattr(described, "annotation", None))
        if plain is None or getattr(parameter, "_runtime_param", described) is not None:
            continue
        limits = getattr(parameter, "min", None), getattr(parameter, "max", None)
        parameter._runtime_param = PlainValue(_within(plain, *limits), _typers(parameter))


def _typers(parameter: Any) -> Callable[[], Any]:
    def make() -> Any:
        parameter._runtime_param = None
        return parameter.get_runtime_param()

    return make


def _within(
    plain: Callable[[Any], Any], least: float | None, most: float | None
) -> Callable[[Any], object]:
    def limited(value: Any) -> object:
        shortened = plain(value)
        if (least is not None and shortened < least) or (most is not None and shortened > most):
            raise NotPlainError
        return shortened

    return plain if least is None and most is None else limited


def _text(value: Any) -> str:
    if type(value) is not str:
        raise NotPlainError
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise NotPlainError
    return value


def _texts(value: Any) -> list[str]:
    if type(value) not in (list, tuple):
        raise NotPlainError
    return [_text(item) for item in value]


def _number(value: Any) -> int:
    if type(value) is int:
        return value
    digits = _text(value)
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS):
        raise NotPlainError
    return int(digits)


def _path(value: Any) -> Path:
    """Of what is there, typer checks that it may be read."""
    if os.path.lexists(_text(value)):
        raise NotPlainError
    return Path(value)


def _paths(value: Any) -> list[Path]:
    if type(value) not in (list, tuple):
        raise NotPlainError
    return [_path(item) for item in value]


def _float(value: Any) -> float:
    if type(value) is float:
        return value
    _number(_text(value).replace(".", "", 1))
    return float(value)


_PLAIN: Final[dict[object, Callable[[Any], Any]]] = {
    str: _text,
    bool: _flag,
    list[str]: _texts,
    int: _number,
    float: _float,
    Path: _path,
    list[Path]: _paths,
}
