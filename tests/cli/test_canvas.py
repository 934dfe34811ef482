"""What standard output is: width, colour, a pipe."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from hfinspect.cli.streams import wants_color

from .program import ROOT, hfinspect

BLOOM = "fixtures/models/bloom-1b4-zh"


@pytest.mark.parametrize(
    ("variables", "terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"FORCE_COLOR": "false"}, True, False),
        ({"FORCE_COLOR": "3"}, False, True),
        ({"NO_COLOR": "0", "FORCE_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": ""}, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, False, True),
    ],
)
def test_when_there_is_colour(
    variables: dict[str, str], terminal: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert wants_color(terminal) is expected


def test_colour_is_forced_in_a_pipe() -> None:
    assert "\033[" in hfinspect(BLOOM, env={"FORCE_COLOR": "1", "NO_COLOR": ""}).out
    assert "\033[" not in hfinspect(BLOOM, env={"FORCE_COLOR": "", "NO_COLOR": ""}).out


def test_a_pipe_and_a_file_keep_all_columns(tmp_path: Path) -> None:
    """Only a width that is given leaves columns out, and then says which."""
    whole = hfinspect("tensors", BLOOM, env={"COLUMNS": ""}).out
    assert "dtype" in whole.splitlines()[2]
    assert "hidden" not in whole
    hfinspect("tensors", BLOOM, "-o", tmp_path / "t.txt", env={"COLUMNS": "60"})
    assert (tmp_path / "t.txt").read_text() == whole
    narrow = hfinspect("tensors", BLOOM, env={"COLUMNS": "60"}).out
    assert " columns hidden (" in narrow
    assert "-f csv shows" in narrow


@pytest.mark.posix
def test_tensors_fold_on_a_terminal() -> None:
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "hfinspect", "tensors", BLOOM]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    subprocess.run(command, cwd=ROOT, env=env, stdout=child, timeout=60, check=True)
    os.close(child)
    shown = os.read(parent, 100_000).decode()
    os.close(parent)
    assert "transformer.h.[0-23].mlp.dense_h_to_4h.weight" in shown
    assert "--all" in shown
