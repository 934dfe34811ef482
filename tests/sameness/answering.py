"""A process that answers for one commit: its package alone, the command line's own front door.

    python answering.py FOLDER        # which holds hfinspect/

Each line of standard input is ``[folder, [[argument, ...], ...]]``; the answer is a line with
``[exit code, standard output, standard error]`` for each. This file imports nothing of the tests,
which are those of one commit.
"""

from __future__ import annotations

import gc
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

#: New objects between two looks for cycles: a command makes many, and most go without a look.
_NEW_OBJECTS = 500_000
#: The exit code of an answer that is a traceback, of Python as of this judge.
TRACEBACK = -1


def answered(run: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    sys.stdout = out
    sys.stderr = err
    try:
        code = run(list(arguments))
    except Exception as error:  # a bug of the commit: without the lines of its source
        print(f"{type(error).__name__}: {error}", file=err)
        code = TRACEBACK
    finally:
        sys.stdout = sys.__stdout__
        sys.stderr = sys.__stderr__
    return code, _text(out), _text(err)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def main(folder: str) -> None:
    sys.path[0] = folder  # in place of the folder of this file
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what is written around sys.stdout is no reply
    gc.set_threshold(_NEW_OBJECTS)
    import hfinspect
    from hfinspect.cli.outcome import run

    if Path(folder).resolve() not in Path(hfinspect.__file__).resolve().parents:
        sys.exit(f"{hfinspect.__file__} was imported; expected the package in {folder}")
    for line in sys.stdin:
        at, questions = json.loads(line)
        os.chdir(at)
        answers = [answered(run, arguments) for arguments in questions]
        print(json.dumps(answers), file=replies, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
