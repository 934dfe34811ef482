"""Options of a command that are the fields of a dataclass, each written there once."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from ..core.option_field import Option, options_of


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command some of whose parameters are dataclasses of options (``core/option_field.py``), as
    typer takes it: each of these parameters, which are keyword-only, is one flag for each field, in
    its place, and the command is given the dataclass. A field that is no option has its flag in its
    annotation (``options.Quiet``)."""
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
        by_group = {name: group(**_taken(group, values)) for name, group in groups.items()}
        command(**values, **by_group)

    vars(called).pop("__wrapped__")
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def arguments_of(*groups: Any) -> dict[str, Any]:
    """The values of groups by the names that the library has for them."""
    return {name: getattr(group, name) for group in groups for name in options_of(type(group))}


def flag_of(group: type[Any], name: str) -> Any:
    """The flag of one option."""
    return _shown(options_of(group)[name][1])


def _flags(group: type[Any]) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    options = options_of(group)
    for one in fields(group):
        name = one.name
        default = one.default
        hint = hints[one.name]
        if one.name in options:
            option = options[one.name][1]
            default = False if hint is bool else default
            name = _typed(option)
            hint = Annotated[_of_words(hint, option), _shown(option)]
        yield inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
        )


def _typed(option: Option) -> str:
    """The name of a flag's parameter: where a switch turns a field off, not the field's."""
    return option.flag.lstrip("-").replace("-", "_")


def _taken(group: type[Any], values: dict[str, Any]) -> dict[str, Any]:
    """The fields of a group, taken out of what was typed."""
    values_of = {}
    options = options_of(group)
    for one in fields(group):
        if one.name not in options:
            values_of[one.name] = values.pop(one.name)
            continue
        option = options[one.name][1]
        value = values.pop(_typed(option))
        if option.of_words is not None:
            value = option.of_words(value or ())
        values_of[one.name] = not value if one.default is True else value
    return values_of


def _of_words(hint: Any, option: Option) -> Any:
    """The type that the words of a flag have: text where the field may be text."""
    if option.of_words is not None:
        return list[str] | None
    if get_origin(hint) is Literal:
        return str
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
