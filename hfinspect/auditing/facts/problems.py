"""The judgement of each folder's checkpoint, as rules look at it."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.wholeness import Problem, ProblemKind
from ..registry import RuleFinding
from .target import Folder, TargetFacts


def problems(facts: TargetFacts, *kinds: ProblemKind) -> Iterator[tuple[Folder, Problem]]:
    """Problems of these kinds of the copy that loaders take, folder by folder."""
    for folder in facts.folders:
        inspection = folder.judged.inspection
        if inspection is None:
            continue
        for problem in inspection.problems:
            if problem.kind in kinds:
                yield folder, problem


def problems_between_parts(facts: TargetFacts, *kinds: ProblemKind) -> Iterator[Problem]:
    """Problems of these kinds of repos of several parts, each as one."""
    for folder in facts.folders:
        yield from (problem for problem in folder.between_parts if problem.kind in kinds)


def finding_of(folder: Folder, problem: Problem) -> RuleFinding:
    """A problem as a rule reports it: one finding for all that has one cause."""
    file = problem.file or (folder.main.label if folder.main is not None else None)
    return RuleFinding(
        problem.sentence,
        file,
        problem.example,
        problem.fix or None,
        problem.severity,
        problem.count,
        problem.names,
    )
