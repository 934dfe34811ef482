"""Standard output and standard error: full, closed, or with a reader that has gone."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from ..core.text import clean
from ..errors import AccessError, HfinspectError, UnreadableError
from .hints import hint_of

#: Longest sentence shown; paths and lists of known names take room.
MAX_SHOWN = 1000

#: What the program was called with: a page says which command made it.
ARGUMENTS: list[str] = []

_ELSEWHERE = "--output FILE writes to a file"


def flushed() -> None:
    """Standard output, as far as there is one, has taken everything. Raises UnreadableError."""
    if sys.stdout is not None:
        with standard_output() as out:
            out.flush()


@contextlib.contextmanager
def standard_output() -> Iterator[TextIO]:
    """Standard output; a full disk behind it is an error like others, a reader that has hung up
    is not."""
    if sys.stdout is None:
        raise UnreadableError("standard output", "is closed", hint=_ELSEWHERE)
    try:
        yield sys.stdout
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_stdout()
        reason = error.strerror or str(error)
        raise UnreadableError(
            "standard output", f"cannot be written: {reason}", hint=_ELSEWHERE
        ) from None


def drop_stdout() -> None:
    """What is still in the buffer of standard output goes nowhere, or Python complains at exit."""
    sys.stdout = sys.__stdout__
    if sys.stdout is not None:
        _drop(sys.stdout)


def _drop(stream: TextIO) -> None:
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def complain(text: str) -> None:
    """A line on standard error, if anything takes it."""
    if sys.stderr is None:
        return
    encoding = sys.stderr.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr)
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)  # or Python tries again at exit


def wants_color(terminal: bool) -> bool:
    """NO_COLOR turns colour off anywhere, whatever it says; FORCE_COLOR on in pipes too, off if it
    is ``0`` or ``false``. Neither counts if it is empty."""
    if os.environ.get("NO_COLOR"):
        return False
    forced = os.environ.get("FORCE_COLOR")
    if forced:
        return forced.lower() not in ("0", "false")
    return terminal and os.environ.get("TERM") != "dumb"


def complain_of(error: HfinspectError) -> None:
    """One sentence, what a server said, and a hint on standard error. ``error:`` is red where there
    is colour."""
    red = wants_color(sys.stderr is not None and sys.stderr.isatty())
    label = "\033[31merror:\033[0m" if red else "error:"
    complain(f"{label} {clean(str(error), MAX_SHOWN)}")
    if isinstance(error, AccessError) and error.server_said:
        complain(f"server: {clean(error.server_said, MAX_SHOWN)}")
    hint = hint_of(error, _command())
    if hint:
        complain(f"hint: {clean(hint, MAX_SHOWN)}")


def _command() -> str:
    """The command that is running: the first word, or ``inspect``, which needs none."""
    from .fast_path import COMMANDS

    return ARGUMENTS[0] if ARGUMENTS and ARGUMENTS[0] in COMMANDS else "inspect"


def show_version(version: str) -> int:
    """``--version``; the exit code."""
    try:
        with standard_output() as out:
            print(f"hfinspect {version}", file=out, flush=True)
    except BrokenPipeError:
        drop_stdout()
    except UnreadableError as error:
        complain_of(error)
        return error.exit_code
    return 0
