"""The judgement of a model of several parts: those of the parts, and whether they are all there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...core.results import Inspection, Member
from ...core.wholeness import Problem, by_weight, is_whole


def judged_parts(parts: Sequence[tuple[Member, Inspection]]) -> dict[str, Any]:
    """The fields of an inspection that say whether a model of several parts is whole."""
    problems = [_of_part(problem, member.name) for member, one in parts for problem in one.problems]
    known = any(one.whole is not None for _, one in parts)
    return {"whole": is_whole(problems, known=known), "problems": by_weight(problems)}


def _of_part(problem: Problem, part: str) -> Problem:
    """The same problem, with the part that it is of."""
    return replace(problem, text=f"{part}: {problem.text}")
