"""The README's examples, run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from . import readme_outputs, readme_tables
from .cli.program import ROOT

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
PYTHON = [body for language, body in BLOCKS if language == "python"]


SHOWN = [(m["command"].strip(), m["output"]) for m in readme_outputs.SHOWN.finditer(README)]


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=lambda text: text[:40])
def test_shown_output_is_what_comes_out(command: str, output: str) -> None:
    """``python -m tests.readme_outputs`` writes them."""
    assert readme_outputs.output_of(command) == output


def test_outputs_are_shown() -> None:
    """The main job, and explain with its worked examples."""
    assert len(SHOWN) >= 8


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
