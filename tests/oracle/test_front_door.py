"""``python -m tests.oracle``: every tool is a command, and says what it lacks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from . import __main__ as front_door

ROOM = Path(__file__).parent
RUN = (*front_door.COMMANDS, *front_door.SUBJECTS)


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.oracle", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOM.parents[1])


def test_every_module_that_runs_is_a_command() -> None:
    runs = {
        path.stem
        for path in ROOM.glob("[!_]*.py")
        if not path.stem.startswith("test_")
        and '\nif __name__ == "__main__":' in path.read_text(encoding="utf-8")
    }
    assert {command.module for command in RUN} == runs, "add it to tests/oracle/__main__.py"
    assert len({command.module for command in RUN}) == len(RUN)


def test_the_readme_names_every_command() -> None:
    text = (ROOM / "README.md").read_text(encoding="utf-8")
    named = set(
        re.findall(r"`([a-z-]+)[^`]*`", "\n".join(re.findall(r"^\|.*", text, re.MULTILINE)))
    )
    unnamed = {command.name for command in front_door.COMMANDS} - named
    assert not unnamed, "tests/oracle/README.md: add a row to the table"


def test_without_a_command_all_are_listed() -> None:
    done = _run()
    assert done.returncode == 0
    assert all(command.what in done.stdout for command in RUN)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tarce", "llama"), "'tarce' is not a command; expected one of: trace, survey"),
        (("record",), "record what? One of: saves, caches"),
        (("record", "llama"), "'llama' is not a subject of record; expected one of: saves"),
    ],
)
def test_a_wrong_word_is_answered_with_what_there_is(words: tuple[str, ...], said: str) -> None:
    done = _run(*words)
    assert done.returncode == 2
    assert said in done.stderr


def test_help_needs_no_library() -> None:
    done = _run("record", "packed", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "what transformers saves of small packed models" in done.stdout


def test_a_library_that_is_not_there_is_named_as_pip_calls_it() -> None:
    lacking = front_door.lacking(
        front_door.Command("x", "x", "x", ("json", "sentence_transformers_of_nobody"))
    )
    assert lacking == ["sentence_transformers_of_nobody"]
    assert front_door.pip_names(("sentence_transformers",)) == ["sentence-transformers"]
