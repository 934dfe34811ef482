"""Where text goes: the terminal with its width and colours, a pipe, or a file."""

import os
import stat
import sys
from pathlib import Path
from typing import Any, Final, Protocol

from ..core.refs import masked
from ..errors import UnreadableError, UsageError
from ..reports.registry import FORMATS, render
from ..reports.table import PIPE_WIDTH, Canvas
from .streams import ARGUMENTS, standard_output, wants_color

#: What a file gets.
FILE: Final = Canvas(PIPE_WIDTH, unlimited=True)


def canvas_of_stdout() -> Canvas:
    """Width, colour and characters of standard output. Tables in a pipe have no limit, unless the
    variable COLUMNS gives one."""
    out = sys.stdout
    if out is None:  # closed before we began; writing says so
        return FILE
    terminal = out.isatty()
    chosen_width = _given_width()
    width = columns_of_terminal() if terminal else chosen_width
    encoding = (out.encoding or "ascii").lower().replace("-", "")
    return Canvas(
        max(width or PIPE_WIDTH, 40),
        wants_color(terminal),
        encoding.startswith("utf"),
        unlimited=not terminal and chosen_width is None,
        cuts=terminal,
    )


def columns_of_terminal() -> int:
    """Those of the variable COLUMNS, else of standard output."""
    import shutil  # which brings all that packs files

    return shutil.get_terminal_size((PIPE_WIDTH, 24)).columns


def is_terminal() -> bool:
    """Whether standard output is one: a person reads it, and no program."""
    return sys.stdout is not None and sys.stdout.isatty()


def _given_width() -> int | None:
    """COLUMNS, where it is exported."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and 0 < len(columns) < 5 else None


class DocumentMaker(Protocol):
    def __call__(self) -> Any: ...


def emit(
    format_name: str,
    document: DocumentMaker,
    result: DocumentMaker,
    output: Path | None,
    known: tuple[str, ...] = tuple(FORMATS),
) -> None:
    """Render and write to ``output``, or to standard output."""
    checked_format(format_name, known)
    canvas = canvas_of_stdout() if output is None else FILE
    write(render(format_name, document, result, canvas, command_line), output)


def command_line() -> str:
    """The command that is running, as one would type it where the models are: without a token,
    without what an address holds of a login, and without the way to a folder of this machine."""
    import shlex  # a page alone needs it

    left = iter(ARGUMENTS)
    words = ["hfinspect"]
    for argument in left:
        if argument == "--token":
            next(left, None)
        elif not argument.startswith("--token="):
            words.append(
                shlex.quote(masked(argument) if "://" in argument else _relative(argument))
            )
    return " ".join(words)


def _relative(argument: str) -> str:
    """``/home/me/models/mine`` as ``mine``, ``--output=/tmp/x.html`` as ``--output=x.html``."""
    option, equals, value = argument.rpartition("=") if argument[:2] == "--" else ("", "", argument)
    path = Path(value).expanduser() if value[:1] == "~" else Path(value)
    return f"{option}{equals}{path.name}" if path.is_absolute() and path.name else argument


def checked_format(format_name: str, known: tuple[str, ...] = tuple(FORMATS)) -> str:
    if format_name not in known:
        raise UsageError(f"format {format_name!r}", "is unknown", expected=", ".join(known))
    return format_name


def write(text: str, output: Path | None) -> None:
    """Text and a newline. A file is replaced whole or not at all. Raises UnreadableError."""
    if output is None:
        with standard_output() as out:
            encoding = out.encoding or "utf-8"
            out.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        return
    try:
        if output.is_dir():
            raise UnreadableError(str(output), "is a directory", hint="--output takes a file")
        if output.exists() and not (output.is_file() and os.access(_folder(output), os.W_OK)):
            # A pipe, /dev/null, or a file in a folder that takes no new ones.
            with output.open("w", encoding="utf-8", newline="") as stream:
                stream.write(text + "\n")
        else:
            _replace(Path(os.path.realpath(output)), text + "\n")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableError(str(output), f"cannot be written: {reason}") from None


def _folder(path: Path) -> str:
    return os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - realpath never raises here


def _replace(path: Path, text: str) -> None:
    """Write next to ``path``, then take its place, with the rights of what was there."""
    import tempfile

    rights = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~umask()
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", newline="", dir=path.parent, prefix=".hfinspect-", delete=False
    ) as stream:
        beside = Path(stream.name)
        try:
            stream.write(text)
            stream.flush()
            beside.chmod(rights)
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
