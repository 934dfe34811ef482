"""Running the program: in this process where that is the same, in one of its own where not."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hfinspect.cli.outcome import run

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


def hfinspect(
    *arguments: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    encoding: str = "utf-8",
    columns: int | None = None,
) -> Result:
    """Exit code and output of ``hfinspect ARGUMENTS``, in this process. For what concerns the
    Hub, signals and start-up take ``process``: the client reads the environment once.

    ``columns``: standard output is a terminal of that width, without colours."""
    made = _stream if columns is None else _Terminal.of
    out = made(encoding)
    err = _stream(encoding)
    if columns is not None:
        env = {"COLUMNS": str(columns), "NO_COLOR": "1", **(env or {})}
    with (
        _environment(env or {}, cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = run([str(argument) for argument in arguments])
    return Result(code, _text(out), _text(err))


def process(
    *arguments: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    stdin: str | None = None,
) -> Result:
    """The same in a process of its own. A traceback is never an answer."""
    done = subprocess.run(
        [sys.executable, "-m", "hfinspect", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **(env or {})},
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Result(done.returncode, done.stdout, done.stderr)


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True

    @classmethod
    def of(cls, encoding: str) -> _Terminal:
        return cls(io.BytesIO(), encoding=encoding, errors="strict", newline="")


def _stream(encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode(stream.encoding)


@contextlib.contextmanager
def _environment(env: Mapping[str, str], cwd: Path) -> Iterator[None]:
    before = dict(os.environ)
    home = Path.cwd()
    os.environ.update(env)
    os.chdir(cwd)
    try:
        yield
    finally:
        os.chdir(home)
        os.environ.clear()
        os.environ.update(before)
