"""Writes the tables of docs/comparison.md: four scanners on the same files.

    HFINSPECT_SCANNERS_PYTHON=... python -m tests.trust.compare_scanners docs/comparison.md

The interpreter has picklescan, modelscan and fickling. Only what is between the two marks changes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import hfinspect
from hfinspect.errors import NothingToInspectError

from .benign import benign_files
from .disguised import every_sample

BEGIN = "<!-- begin tables -->"
END = "<!-- end tables -->"
OURS = "hfinspect"

#: key -> "flagged", "unread" or "silent"
Answers = Mapping[str, str]


def corpus() -> tuple[list[tuple[str, str, bytes]], dict[str, str]]:
    """(key, file, bytes) of everything, and the group of each key."""
    files = []
    groups = {}
    for number, sample in enumerate(every_sample()):
        key = f"attack{number}"
        files.append((key, sample.file, sample.data))
        groups[key] = sample.category
    for number, (name, content) in enumerate(benign_files().items()):
        key = f"benign{number}"
        files.append((key, Path(name).name, content))
        groups[key] = name.partition("/")[0]
    return files, groups


def ask_hfinspect(folder: Path) -> str:
    """An error of any rule counts as flagged, as for a build that fails on errors."""
    try:
        audit_result = hfinspect.audit(str(folder))
    except NothingToInspectError:
        return "silent"
    return (
        "flagged" if any(item.severity == "error" for item in audit_result.findings) else "silent"
    )


def ask_others(root: Path, files: Sequence[tuple[str, str, bytes]]) -> dict[str, Answers]:
    script = Path(__file__).with_name("run_scanners.py")
    done = subprocess.run(
        [os.environ["HFINSPECT_SCANNERS_PYTHON"], "-W", "ignore", str(script), str(root)],
        input=json.dumps([(key, file) for key, file, _ in files]),
        capture_output=True,
        text=True,
        check=True,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )
    answers: dict[str, Answers] = json.loads(done.stdout)
    return answers


def table(answers: Mapping[str, Answers], groups: Mapping[str, str], prefix: str) -> str:
    """Flagged files by group, and after a plus those that a scanner reports as unread."""
    lines = [
        "| " + " | ".join(["", "files", *answers]) + " |",
        "| --- |" + " ---: |" * (len(answers) + 1),
    ]
    chosen = {key: group for key, group in groups.items() if key.startswith(prefix)}
    for group in dict.fromkeys(chosen.values()):
        keys = [key for key, of in chosen.items() if of == group]
        lines.append(_row(group, keys, answers))
    lines.append(_row("**all**", list(chosen), answers))
    return "\n".join(lines)


def _row(title: str, keys: Sequence[str], answers: Mapping[str, Answers]) -> str:
    cells = [title, str(len(keys))]
    for answers_of_one in answers.values():
        flagged = sum(answers_of_one[key] == "flagged" for key in keys)
        unread = sum(answers_of_one[key] == "unread" for key in keys)
        cells.append(f"{flagged} + {unread}" if unread else str(flagged))
    return "| " + " | ".join(cells) + " |"


def main(target: Path) -> None:
    files, groups = corpus()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        for key, file, content in files:
            (root / key).mkdir()
            (root / key / file).write_bytes(content)
        ours = {key: ask_hfinspect(root / key) for key, _, _ in files}
        answers: dict[str, Answers] = {OURS: ours, **ask_others(root, files)}
    attacks = table(answers, groups, "attack")
    benign = table(answers, groups, "benign")
    text = target.read_text(encoding="utf-8")
    before = text.split(BEGIN)[0]
    after = text.split(END)[1]
    body = f"### Files that run code\n\n{attacks}\n\n### Files that libraries save\n\n{benign}"
    target.write_text(f"{before}{BEGIN}\n\n{body}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
