"""The command ``hfinspect``: its commands, and how they are found in what was typed."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from ..errors import UsageError
from .fast_path import COMMANDS, completes
from .plain_values import make_plain
from .streams import standard_output

if TYPE_CHECKING:
    from ..sources.opening import Access

#: Options of the program itself; anything else before a command belongs to ``inspect``.
_OWN_OPTIONS: Final = frozenset(
    {"--help", "-h", "--version", "--install-completion", "--show-completion"}
)


#: It leaves two columns free.
_LEAST_OF_PARSER = 52


class _NarrowHelp:
    """Help as narrow as the terminal: the parser's own formatter has 50 columns at least."""

    def get_help(self, ctx: Any) -> str:
        from .output import columns_of_terminal

        columns = columns_of_terminal()
        if columns < _LEAST_OF_PARSER:
            ctx.terminal_width = columns
        return str(super().get_help(ctx))  # type: ignore[misc]


class DefaultGroup(_NarrowHelp, TyperGroup):
    """``hfinspect MODEL`` is ``hfinspect inspect MODEL``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        make_plain(self.get_params(ctx))
        return super().parse_args(ctx, with_command(args))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Each command with the whole first sentence of its help: it wraps, it is never cut."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, one.get_short_help_str(1000)) for name, one in commands if one is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Options before any command are those of the program and of ``inspect``."""
        completions = super().shell_complete(ctx, incomplete)
        inspect = self.get_command(ctx, "inspect")
        if incomplete.startswith("-") and inspect is not None:
            completions += inspect.shell_complete(ctx, incomplete)
        return completions


class TidyCommand(_NarrowHelp, TyperCommand):
    """``hfinspect compare [OPTIONS] A B...``: arguments in the usage line as they are called, in
    brackets where they may be left out. Plain values are made without pydantic."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        make_plain(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [p for p in self.get_params(ctx) if p.param_type_name == "argument"]
        names = [str(p.metavar or p.name) for p in arguments]
        pairs = zip(names, arguments, strict=True)
        return ["[OPTIONS]", *(n if p.required else f"[{n}]" for n, p in pairs)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments without the Python type that newer versions of typer show after their name."""
        for parameter in self.get_params(ctx):
            if parameter.param_type_name == "argument":
                vars(parameter)["display_type_rich"] = lambda **_: None
        super().format_options(ctx, formatter)


def with_command(arguments: Sequence[str]) -> list[str]:
    """The arguments with the command that is meant where none is named."""
    if arguments and arguments[0] not in _OWN_OPTIONS:
        first = next((arg for arg in arguments if not arg.startswith("-")), None)
        if arguments[0].startswith("-") or first not in COMMANDS:
            return ["inspect", *arguments]
    return list(arguments)


def check_command(arguments: Sequence[str]) -> None:
    """Raises UsageError for a word that is most likely a command spelt wrong: like one, and neither
    a local path nor a repo with its owner."""
    first = next((arg for arg in arguments if not arg.startswith("-")), None)
    if not arguments or first != arguments[0] or first in COMMANDS or not first.isalpha():
        return
    nearest = difflib.get_close_matches(first.lower(), COMMANDS, n=1, cutoff=0.75)
    if nearest and not os.path.lexists(first):
        raise UsageError(
            first,
            "is neither a command nor a local path",
            hint=f"did you mean {program()} {nearest[0]}? For a Hub repo of this name: hf://{first}",
        )


def needed(arguments: Sequence[str]) -> Sequence[str]:
    """The commands to set up: the one that is meant; all for help and for completion, which the
    shell requests by a variable."""
    command = with_command(arguments)[:1]
    return command if command and command[0] in COMMANDS and not completes() else COMMANDS


def make_app(commands: Sequence[str] = COMMANDS) -> typer.Typer:
    """The program with these commands; each takes its time to set up."""
    app = typer.Typer(
        name="hfinspect",
        cls=DefaultGroup,
        help="Show what is inside a Hugging Face model before you download it.\n\n"
        "hfinspect MODEL is short for hfinspect inspect MODEL. MODEL is a Hub repo (org/name, "
        "org/name@revision), an hf:// or Hub URL, a local directory, a weight file or a "
        "config.json."
        "\n\n1 GB is 10^9 bytes, as on the Hub. Set NO_COLOR to turn colours off, FORCE_COLOR to "
        "keep "
        "them in a pipe.",
        epilog="Example: hfinspect openai-community/gpt2",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def options(
        version: bool = typer.Option(False, "--version", help="Show the version.", is_eager=True),
    ) -> None:
        if version:
            from .._version import __version__

            typer.echo(f"hfinspect {__version__}")
            raise typer.Exit

    for name in commands:
        importlib.import_module(f".{name}", __package__).register(app)
    for command in app.registered_commands:
        command.cls = TidyCommand
    return app


def parsed(arguments: Sequence[str], begun: Access | None = None) -> object:
    """Run the command that the arguments name; what it returns, if anything. The command finds
    ``begun`` as the object of its context."""
    arguments = _helped(arguments)
    check_command(arguments)
    return _outcome(make_app(needed(arguments)), arguments, begun)


def _helped(arguments: Sequence[str]) -> Sequence[str]:
    """``help`` and ``help memory`` are what ``--help`` and ``memory --help`` are. A model of this
    name is ``./help``."""
    if not arguments or arguments[0] != "help":
        return arguments
    return [*(word for word in arguments[1:2] if word in COMMANDS), "--help"]


def _outcome(app: typer.Typer, arguments: Sequence[str], begun: Access | None) -> object:
    """What the command returns. An OSError that comes this far is standard output's, from the
    parser's own help or version: a full disk."""
    run = partial(app, args=list(arguments), prog_name=program(), standalone_mode=False, obj=begun)
    if not set(arguments) & _OWN_OPTIONS:
        return run()
    with standard_output():
        return run()


def program() -> str:
    """The name that we were called by, one of the two console scripts."""
    return "hf-inspect" if Path(sys.argv[0]).stem == "hf-inspect" else "hfinspect"
