"""The README's examples, run as they stand."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import pytest

from . import readme_tables
from .cli.program import ROOT, hfinspect

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
PYTHON = [body for language, body in BLOCKS if language == "python"]


def shown_outputs() -> list[tuple[str, str]]:
    """Every ``text`` block that follows a command on fixtures, with that command."""
    found = []
    for (language, body), (following, output) in itertools.pairwise(BLOCKS):
        lines = [line for line in body.splitlines() if "hfinspect " in line]
        if language == "sh" and following == "text" and lines:
            command = lines[-1].rpartition("hfinspect ")[2].split("  #")[0]
            found.append((command.strip(), output))
    return found


@pytest.mark.parametrize(("command", "output"), shown_outputs(), ids=lambda text: text[:40])
def test_shown_output_is_what_comes_out(command: str, output: str) -> None:
    done = hfinspect(*shlex.split(command), env={"COLUMNS": "60"})
    shown = re.sub(r"^path .*$", "path", output, flags=re.MULTILINE)
    came = re.sub(r"^path .*$", "path", done.out, flags=re.MULTILINE)
    came = re.sub(r"(^path\n)(?: {5,}\S+\n)*", r"\1", came, flags=re.MULTILINE)
    assert came == shown


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_python_examples_run(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(code, "README.md", "exec"), {})


def test_commands_exist() -> None:
    """Every command that the README names is one."""
    from hfinspect.cli.app import COMMANDS

    words = set(re.findall(r"^hfinspect ([a-z]+) [A-Z.<'a-z-]", README, re.MULTILINE))
    assert words <= set(COMMANDS)


def test_tables_are_those_of_the_code() -> None:
    """``python -m tests.readme_tables`` writes them."""
    assert readme_tables.filled(README) == README


def test_the_licence_is_here() -> None:
    assert "Apache License" in Path(ROOT / "LICENSE").read_text()
