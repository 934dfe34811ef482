"""Values are the same as typer makes them, and so are the errors."""

from __future__ import annotations

import inspect as signatures
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.core import TyperCommand

from hfinspect.cli.app import TidyCommand, make_app
from hfinspect.cli.fast_path import COMMANDS
from hfinspect.cli.plain_values import PlainValue, make_plain

from .program import hfinspect

VALUES = [
    "",
    "x",
    "-",
    "0",
    "1",
    "007",
    "16",
    "64",
    "65",
    "-1",
    "+3",
    "1_000",
    " 5",
    "\u0663",
    "1.5",
    ".5",
    "5.",
    "1e3",
    "nan",
    "inf",
    "1.2.3",
    "99999999999999999999",
    "a\udcff",
    "true",
]
OPTIONS = ["", "--text=", "--number=", "--seconds=", "--output=", "--several="]


def parsed(cls: type[TyperCommand], arguments: list[str]) -> object:
    """What a function of every kind of parameter gets, or the error's words."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

    @app.command(cls=cls)
    def command(
        words: Annotated[list[str] | None, typer.Argument()] = None,
        text: str = "auto",
        flag: Annotated[bool, typer.Option("--flag")] = False,
        number: Annotated[int, typer.Option(min=1, max=64)] = 16,
        seconds: Annotated[float | None, typer.Option(min=0.01)] = None,
        output: Path | None = None,
        several: list[str] | None = None,
    ) -> Any:
        return (words, text, flag, number, seconds, output, several)

    try:
        return app(arguments, standalone_mode=False)
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize(
    "option", ["", "--text=", "--number=", "--seconds=", "--output=", "--several="]
)
def test_as_typer_itself(option: str) -> None:
    differing = {}
    for value in VALUES:
        arguments = [option + value] if option else ["--", value, "second"]
        ours, theirs = (repr(parsed(cls, arguments)) for cls in (TidyCommand, TyperCommand))
        if ours != theirs:
            differing[value] = (ours, theirs)
    assert differing == {}


def test_no_values_and_a_flag(tmp_path: Path) -> None:
    for arguments in ([], ["--flag"], [f"--output={tmp_path}"], ["--several=a", "--several=b"]):
        assert repr(parsed(TidyCommand, arguments)) == repr(parsed(TyperCommand, arguments))


def test_every_parameter_of_ours_is_plain() -> None:
    """One of another type would bring pydantic back."""
    if not hasattr(typer.core.TyperOption, "get_runtime_param"):
        pytest.skip("this version of typer converts by itself")
    group: Any = typer.main.get_command(make_app())
    for name in COMMANDS:
        parameters = group.commands[name].params
        assert parameters or not signatures.signature(group.commands[name].callback).parameters
        make_plain(parameters)
        assert [p.name for p in parameters if not isinstance(p._runtime_param, PlainValue)] == []


def test_an_error_names_the_option() -> None:
    done = hfinspect("scan", "x", "--jobs", "0")
    assert done.code == 2
    assert "--jobs" in done.err
