"""A field of a dataclass that is an option too: the command line and the library take its name,
its type, its default and its help from here, so that each is written once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, field, fields
from functools import wraps
from inspect import Parameter, Signature, get_annotations
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar, cast

P = ParamSpec("P")
C = TypeVar("C")
R = TypeVar("R")
T = TypeVar("T")

#: Where the metadata of a field has its ``Option``.
_KEY: Final = "option"


class Option(NamedTuple):
    """What the command line shows of a field."""

    help: str
    #: ``--name``; of a switch that is on by default the one that turns it off.
    flag: str
    metavar: str | None
    least: float | None
    most: float | None
    #: What a shell completes.
    choices: tuple[str, ...]
    #: A value that a hint shows after the flag.
    example: str
    #: What other tools call it, with underscores.
    other_names: tuple[str, ...]
    #: Makes the value of the words of a flag that may be repeated; None of a flag that may not.
    of_words: Callable[[Iterable[str]], Any] | None


def option(
    default: T,
    help: str,  # noqa: A002 - its name in every parser of options
    *,
    flag: str = "",
    metavar: str | None = None,
    least: float | None = None,
    most: float | None = None,
    choices: tuple[str, ...] = (),
    example: str = "",
    other_names: str = "",
    of_words: Callable[[Iterable[str]], Any] | None = None,
    is_secret: bool = False,
) -> T:
    """A field with a default and what the command line shows of it.

    ``flag`` is left out where it is the field's name with hyphens; no ``repr`` shows a secret.
    """
    names = tuple(other_names.split())
    shown = Option(help, flag, metavar, least, most, choices, example, names, of_words)
    return field(default=default, repr=not is_secret, metadata={_KEY: shown})


def same_option(record: type[Any], name: str, help: str = "", *, when: str = "") -> Any:  # noqa: A002 - as above
    """The field of another dataclass: its default, flag and, without ``help``, its help, which
    begins with ``when`` the option counts."""
    one, shown = options_of(record)[name]
    text = f"{when}: {shown.help[0].lower()}{shown.help[1:]}" if when else shown.help
    again = shown._replace(help=help or text)
    return field(default=one.default, repr=one.repr, metadata={_KEY: again})


def options_of(record: type[Any]) -> dict[str, tuple[Field[Any], Option]]:
    """Name -> field and option of each field that is an option, in the order of ``--help``."""
    options = {}
    for one in fields(record):
        shown: Option | None = one.metadata.get(_KEY)
        if shown is not None:
            flag = shown.flag or f"--{one.name.replace('_', '-')}"
            options[one.name] = (one, shown._replace(flag=flag))
    return options


def called_with(record: Callable[P, C]) -> Callable[[Callable[[C], R]], Callable[P, R]]:
    """A function of a dataclass, as a function that takes the fields as arguments.

    Type checkers see the arguments of the dataclass, ``help()`` and ``inspect.signature`` too. An
    argument that it does not have is a TypeError, which names the one that other tools call so.
    """
    fields = _signature(cast("type[Any]", record))

    def decorated(function: Callable[[C], R]) -> Callable[P, R]:
        name = function.__name__
        returned = function.__annotations__["return"]
        signature = fields.replace(return_annotation=returned)

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                meant = _meant(cast("type[Any]", record), kwargs)
                hint = f": did you mean {meant!r}?" if meant else ""
                raise TypeError(f"{name}() {error}{hint}") from None
            return function(record(*args, **kwargs))

        called.__signature__ = signature  # type: ignore[attr-defined]
        annotations = {one.name: one.annotation for one in fields.parameters.values()}
        called.__annotations__ = {**annotations, "return": returned}
        return called

    return decorated


def _signature(record: type[Any]) -> Signature:
    """The fields as arguments: of those that need their names first the record's own."""
    inherited = {one.name for one in fields(record) if one.kw_only} - get_annotations(record).keys()
    parameters = [
        Parameter(
            one.name,
            Parameter.KEYWORD_ONLY if one.kw_only else Parameter.POSITIONAL_OR_KEYWORD,
            default=Parameter.empty if one.default is MISSING else one.default,
            annotation=one.type,
        )
        for one in fields(record)
    ]
    return Signature(sorted(parameters, key=lambda one: (one.kind, one.name in inherited)))


def _meant(record: type[Any], values: dict[str, Any]) -> str | None:
    """The field that other tools, or the command line, call as an argument that is no field."""
    known = options_of(record)
    for word in values:
        if word in (one.name for one in fields(record)):
            continue
        for name, (_, shown) in known.items():
            flag = shown.flag.lstrip("-").replace("-", "_")
            if word == flag or word in shown.other_names:
                return name
        import difflib

        # The first one is what the error is about.
        names = [one.name for one in fields(record)]
        return next(iter(difflib.get_close_matches(word, names, n=1)), None)
    return None
