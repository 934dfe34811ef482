"""Options of a command that are the fields of a dataclass, each written there once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

from ..core.memory_options import MemoryOptions
from ..core.option_field import Option, options_of


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command some of whose parameters are dataclasses of options (``core/option_field.py``), as
    typer takes it: each of these parameters, which are keyword-only, is one flag for each field, in
    its place, and the command is given the dataclass."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, type[Any]] = {
        name: one.annotation
        for name, one in signature.parameters.items()
        if inspect.isclass(one.annotation) and is_dataclass(one.annotation)
    }
    parameters: list[inspect.Parameter] = []
    for name, one in signature.parameters.items():
        parameters += _flags(groups[name]) if name in groups else [one]

    @wraps(command)
    def called(**values: Any) -> None:
        made = {name: group(**_taken(group, values)) for name, group in groups.items()}
        command(**values, **made)

    vars(called).pop("__wrapped__")
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def given(group: Any) -> dict[str, Any]:
    """The values of a group by the names that the library has for them."""
    return {one.name: getattr(group, one.name) for one in fields(group)}


def flag_of_memory(name: str, help: str) -> Any:  # noqa: A002 - as typer calls it
    """The flag of an option of ``memory`` in another command, whose help it has."""
    return _shown(options_of(MemoryOptions)[name][1]._replace(help=help))


def _flags(group: type[Any]) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group)
    for name, (one, option) in options_of(group).items():
        switch = hints[name] is bool
        yield inspect.Parameter(
            _typed(option),
            inspect.Parameter.KEYWORD_ONLY,
            default=False if switch else one.default,
            annotation=Annotated[_of_one_word(hints[name]), _shown(option)],
        )


def _typed(option: Option) -> str:
    """The name of a flag's parameter: where a switch turns a field off, not the field's."""
    return option.flag.lstrip("-").replace("-", "_")


def _taken(group: type[Any], values: dict[str, Any]) -> dict[str, Any]:
    """The fields of a group, taken out of what was typed."""
    taken = {}
    for name, (one, option) in options_of(group).items():
        value = values.pop(_typed(option))
        taken[name] = not value if one.default is True else value
    return taken


def _of_one_word(hint: Any) -> Any:
    """The type that a word of the command line has: text where the field may be text."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    kinds = get_args(hint)
    kind = str if str in kinds else next(one for one in kinds if one is not type(None))
    return kind | None if type(None) in kinds else kind


def _shown(option: Option) -> Any:
    choices = list(option.choices)
    return typer.Option(
        option.flag,
        help=option.help,
        metavar=option.metavar,
        min=option.least,
        max=option.most,
        autocompletion=(lambda: choices) if choices else None,
    )
