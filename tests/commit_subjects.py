"""Subjects of commits: at most 72 characters, from the commit on that brought this rule.

``python -m tests.commit_subjects`` names those that are longer, and exits with 1. Where git or its
history is missing (an unpacked sdist), there is nothing to judge.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LONGEST = 72
RULE = "tests/commit_subjects.py"


def longer(root: Path) -> list[str]:
    """``hash subject`` of each commit since the rule whose subject is longer, the newest first."""
    came_with = _git(root, "log", "--diff-filter=A", "--format=%H", "--", RULE)
    if not came_with:
        return []
    first = came_with[-1]
    subjects = _git(root, "log", "--no-merges", "--format=%h %s", f"{first}..HEAD")
    subjects += _git(root, "log", "-1", "--format=%h %s", first)
    return [line for line in subjects if len(line.partition(" ")[2]) > LONGEST]


def _git(root: Path, *words: str) -> list[str]:
    try:
        answer = subprocess.run(
            ["git", "-C", str(root), *words],
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    return answer.stdout.splitlines()


def main() -> int:
    subjects = longer(Path(__file__).resolve().parents[1])
    for line in subjects:
        sys.stdout.write(f"longer than {LONGEST} characters: {line}\n")
    return 1 if subjects else 0


if __name__ == "__main__":
    sys.exit(main())
