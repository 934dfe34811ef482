"""How a command ends: its exit code, and errors as sentences.

Exit codes: 0 fine, 1 audit findings or a difference, 2 usage, 3 could not get it, 4 malformed,
5 unknown architecture, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import HfinspectError, UsageError
from .fast_path import is_plain
from .interrupt import INTERRUPTED, hides_interrupt, say_interrupted
from .streams import ARGUMENTS, complain_of, drop_stdout, flushed

if TYPE_CHECKING:
    from ..sources.opening import Access


def run(arguments: Sequence[str], begun: Access | None = None) -> int:
    """Run a command and return the exit code; ``begun`` has its model open already. No traceback
    reaches a user except for a bug of ours."""
    if wants_json(arguments):
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    ARGUMENTS[:] = arguments
    try:
        result = _plain(arguments[0], begun) if is_plain(arguments) else _parsed(arguments, begun)
        flushed()
        if result == INTERRUPTED:  # typer makes an exit code of Ctrl-C and says nothing
            say_interrupted()
        return result if isinstance(result, int) else 0
    except HfinspectError as error:
        return report(error, arguments)
    except KeyboardInterrupt:
        return say_interrupted()
    except BrokenPipeError:
        return seen_enough()
    except SystemExit as error:  # typer's own words for a broken pipe, and after completing
        if isinstance(error.__context__, BrokenPipeError):
            return seen_enough()
        return error.code if isinstance(error.code, int) else 0
    except Exception as error:
        if hides_interrupt(error):
            return say_interrupted()
        code = usage_exit(error, arguments)
        if code is None:
            raise
        return code


def _plain(model: str, begun: Access | None) -> object:
    """Nothing but a model: there is no option to be parsed, and the import of what parses them
    takes as long as the answer."""
    from .cache_directory import header_cache
    from .shown_model import show_model

    show_model(model, {"cache": header_cache(), "session": begun})
    return None


def _parsed(arguments: Sequence[str], begun: Access | None) -> object:
    from .app import parsed

    return parsed(arguments, begun)


def seen_enough() -> int:
    """The reader of our pipe has hung up, which is not an error."""
    drop_stdout()
    return 0


def leave(code: int) -> NoReturn:
    """End the process at once. Threads that still wait for a stalled server are not waited for, an
    interrupt that Python still holds is not raised, and no module is taken apart, which takes a
    sixth of a small command's time."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            if stream is not None:
                stream.flush()
    os._exit(code)


def usage_exit(error: Exception, arguments: Sequence[str]) -> int | None:
    """The exit code of the option parser's own errors and of ``Exit``, or None for others."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]
        return 2
    if callable(getattr(error, "format_message", None)):
        return report(_in_our_words(error), arguments)
    if type(error).__name__ == "Abort":
        return say_interrupted()
    code = getattr(error, "exit_code", None)
    return code if isinstance(code, int) else None


def _in_our_words(error: Any) -> UsageError:
    """An error of the option parser (``No such option: --x``)."""
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", None) or "hfinspect"
    text = " ".join(str(error.format_message()).split()).rstrip(".")
    hint = f"see {command} --help"
    if type(error).__name__ == "NoSuchOption" and context is not None:
        from .hints import meant

        names = {name for parameter in context.command.params for name in parameter.opts}
        if known := meant(error.option_name, names):
            text = f"no such option: {error.option_name}"
            hint = known
    return UsageError(command, text[:1].lower() + text[1:], hint=hint)


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether ``--format json`` (or jsonl) was given, known even where parsing failed."""
    values = [
        following
        for argument, following in itertools.pairwise((*arguments, ""))
        if argument in ("--format", "-f")
    ]
    for start in ("--format=", "-f"):
        values += [
            a.removeprefix(start).removeprefix("=") for a in arguments if a.startswith(start)
        ]
    return any(value.startswith("json") for value in values)


def report(error: HfinspectError, arguments: Sequence[str]) -> int:
    """One sentence and a hint on stderr; with ``--format json`` the error as JSON on stdout too."""
    if wants_json(arguments):
        import json

        with contextlib.suppress(OSError):  # it may be standard output that cannot be written
            print(json.dumps({"error": error.to_dict()}, indent=2), flush=True)
    complain_of(error)
    return error.exit_code
