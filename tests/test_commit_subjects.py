"""Which commits the rule of subjects refuses."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .commit_subjects import LONGEST, RULE, longer


def commit(root: Path, subject: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false")
    words = ("commit", "-q", "--allow-empty", "-m", subject, "-m", "why " * 40)
    subprocess.run(["git", "-C", str(root), *who, *words], check=True)


def test_only_commits_since_the_rule_are_judged(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    commit(tmp_path, "before " + "x" * 100)
    (tmp_path / RULE).parent.mkdir()
    (tmp_path / RULE).write_text("")
    subprocess.run(["git", "-C", str(tmp_path), "add", "."], check=True)
    commit(tmp_path, "the rule")
    commit(tmp_path, "é" * LONGEST)
    assert longer(tmp_path) == []
    commit(tmp_path, "x" * (LONGEST + 1))
    assert [line.partition(" ")[2] for line in longer(tmp_path)] == ["x" * (LONGEST + 1)]


def test_the_commit_of_the_rule_is_judged(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / RULE).parent.mkdir()
    (tmp_path / RULE).write_text("")
    subprocess.run(["git", "-C", str(tmp_path), "add", "."], check=True)
    commit(tmp_path, "y" * (LONGEST + 1))
    assert len(longer(tmp_path)) == 1


def test_without_a_history_nothing_is_refused(tmp_path: Path) -> None:
    assert longer(tmp_path) == []
