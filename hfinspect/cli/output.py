"""Where text goes: the terminal with its width and colours, a pipe, or a file."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Protocol

from ..errors import UnreadableError, UsageError
from ..reports.registry import FORMATS, render
from ..reports.table import Canvas

#: Wider tables are harder to read, not easier.
MAX_WIDTH = 120
#: In a pipe there is no terminal to ask.
PIPE_WIDTH = 80


def canvas_of_stdout() -> Canvas:
    """Width, colour and characters of standard output; NO_COLOR is respected."""
    out = sys.stdout
    terminal = out.isatty()
    width = shutil.get_terminal_size((PIPE_WIDTH, 24)).columns if terminal else piped_width()
    color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    encoding = (out.encoding or "ascii").lower().replace("-", "")
    return Canvas(min(max(width, 40), MAX_WIDTH), color, encoding.startswith("utf"))


def piped_width() -> int:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and len(columns) < 5 else PIPE_WIDTH


class DocumentMaker(Protocol):
    def __call__(self) -> Any: ...


def emit(
    format_name: str, document: DocumentMaker, result: DocumentMaker, output: Path | None
) -> None:
    """Render and write to ``output``, or to standard output."""
    checked_format(format_name)
    canvas = canvas_of_stdout() if output is None else Canvas(PIPE_WIDTH)
    write(render(format_name, document, result, canvas), output)


def checked_format(format_name: str, known: tuple[str, ...] = tuple(FORMATS)) -> str:
    if format_name not in known:
        raise UsageError(f"format {format_name!r}", "is unknown", expected=", ".join(known))
    return format_name


def write(text: str, output: Path | None) -> None:
    """Text and a newline. A file is replaced whole or not at all."""
    if output is None:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        return
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=output.parent, prefix=f".{output.name}.", delete=False
        ) as stream:
            stream.write(text + "\n")
        Path(stream.name).chmod(0o666 & ~umask())
        Path(stream.name).replace(output)
    except OSError as error:
        raise UnreadableError(str(output), f"cannot be written: {error.strerror}") from None


def umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
