"""The recipes of ``fixtures/checkpoints/audit``: a broken and a sound checkpoint for every rule.

A recipe is a base of ``sound``, the steps of ``damage`` that are done to it, and, for the pairs of
the mutation test, which files it ``touches`` and which it needs as they are (``reads``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hfinspect
from hfinspect import AuditResult

from .damage import IN_MEMORY, ON_DISK
from .sound import Files, made, write

FOLDER = Path(__file__).parents[2] / "fixtures" / "checkpoints" / "audit"


@dataclass(frozen=True)
class Recipe:
    """``code`` is the rule that it breaks, or keeps."""

    code: str
    base: str
    what: str
    steps: tuple[tuple[Any, ...], ...] = ()
    deep: bool = False
    reference: str | None = None
    touches: frozenset[str] = field(default=frozenset())
    reads: frozenset[str] = field(default=frozenset())

    def __str__(self) -> str:
        return self.code

    def goes_with(self, other: Recipe) -> bool:
        """Whether both damages can be done to one checkpoint without one hiding the other."""
        return (
            self.base == other.base
            and not self.touches & (other.touches | other.reads)
            and not other.touches & self.reads
        )


def load(path: Path) -> Recipe:
    content = json.loads(path.read_text(encoding="utf-8"))
    return Recipe(
        path.stem.partition("-")[0],
        content["base"],
        content["what"],
        tuple(tuple(step) for step in content["steps"]),
        content.get("deep", False),
        content.get("reference"),
        frozenset(content.get("touches", ())),
        frozenset(content.get("reads", ())),
    )


def recipes(kind: str) -> list[Recipe]:
    return [load(path) for path in sorted(FOLDER.glob(f"*-{kind}.json"))]


def build(directory: Path, *parts: Recipe) -> Path:
    """The checkpoint with the steps of all parts done, those in memory first."""
    files: Files = made(parts[0].base)
    steps = [step for part in parts for step in part.steps]
    for name, *arguments in steps:
        if name in IN_MEMORY:
            IN_MEMORY[name](files, *arguments)
    write(files, directory)
    for name, *arguments in steps:
        if name in ON_DISK:
            ON_DISK[name](directory, *arguments)
    return directory


def audited(directory: Path, *parts: Recipe) -> AuditResult:
    """The audit of ``build`` in a folder of its own."""
    reference = next((part.reference for part in parts if part.reference), None)
    base = None
    if reference is not None:
        base = write(made(reference), directory / "base")
    target = build(directory / "model", *parts)
    return hfinspect.audit(target, deep=any(part.deep for part in parts), reference=base)
