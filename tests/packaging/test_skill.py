"""The agent skill: its commands run, and the keys that it names are there."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest

from hfinspect.cli.fast_path import COMMANDS

from ..cli.program import ROOT, hfinspect

TEXT = (ROOT / "skills" / "hfinspect" / "SKILL.md").read_text(encoding="utf-8")
RUN = re.findall(r"^hfinspect (.+)$", TEXT, re.MULTILINE)


@pytest.mark.parametrize("command", RUN)
def test_commands_run(command: str) -> None:
    done = hfinspect(*shlex.split(command))
    assert done.code in (0, 1), done.err
    for line in done.out.splitlines() if "jsonl" in command else [done.out]:
        assert json.loads(line)


def test_every_command_is_shown() -> None:
    assert {w for w in re.findall(r"hfinspect (\w+) [A-Z]", TEXT) if w in COMMANDS} >= {
        "memory",
        "explain",
        "audit",
        "compare",
        "tensors",
    }
    assert len(RUN) >= 8


def keys(value: Any) -> set[str]:
    """All keys anywhere in a JSON value."""
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values())) if value else set()
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def test_keys_that_it_names_are_there() -> None:
    """Each word in backticks under "Keys to read" is a key or a value of the three JSON forms."""
    section = TEXT.split("## Keys to read")[1].split("## Exit codes")[0]
    known = {"checkpoint", "config", "error", "kind", "message", "hint", "head", "schema_version"}
    for command in RUN[:4]:
        known |= keys(json.loads(hfinspect(*shlex.split(command)).out))
    named = {
        part
        for text in re.findall(r"`([a-z_.\[\]]+)`", section)
        for part in re.findall(r"\w+", text)
    }
    assert named - known - {"hfinspect", "mlp"} == set()


def test_it_is_short() -> None:
    assert len(TEXT.splitlines()) < 150
    assert TEXT.startswith("---\nname: hfinspect\ndescription: ")
