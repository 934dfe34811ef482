"""The judgement of a model of several parts: those of the parts, and whether they are all there and
fit each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...checkpoints.repo_layout import config_name
from ...core.results import Inspection, Member
from ...core.wholeness import Problem, by_weight, is_whole
from .parts_declared import (
    PartsEvidence,
    holds_weights,
    may_be_left_out,
    needed_file,
    unloadable,
    weights_there,
)


def judged_parts(
    parts: Sequence[tuple[Member, Inspection]], evidence: PartsEvidence | None = None
) -> dict[str, Any]:
    """The fields of an inspection that say whether a model of several parts is whole."""
    problems = [_of_part(problem, member.name) for member, one in parts for problem in one.problems]
    if evidence is not None:
        problems += problems_of_parts(evidence)
    known = any(one.whole is not None for _, one in parts)
    return {"whole": is_whole(problems, known=known), "problems": by_weight(problems)}


def judged_with_parts(inspection: Inspection, evidence: PartsEvidence) -> Inspection:
    """A model of one part with weights, with what its repo declares next to it."""
    further = problems_of_parts(evidence)
    if not further:
        return inspection
    problems = (*inspection.problems, *further)
    judged = replace(
        inspection,
        problems=by_weight(problems),
        whole=is_whole(problems, known=inspection.whole is not None),
    )
    return (
        replace(judged, parameters=None, logical=None, nbytes=None) if lacking(evidence) else judged
    )


def _of_part(problem: Problem, part: str) -> Problem:
    """The same problem, with the part that it is of."""
    return replace(problem, text=f"{part}: {problem.text}")


def problems_of_parts(evidence: PartsEvidence) -> list[Problem]:
    """What is wrong with the parts as a whole: missing ones, sizes that do not meet, classes that
    contradict each other, files of several variants."""
    from .module_widths import width_problems
    from .part_classes import class_problems
    from .part_variants import variant_problems
    from .seams import seam_problems

    return [
        *_missing(evidence),
        *class_problems(evidence),
        *(seam_problems(evidence) if evidence.is_pipeline else width_problems(evidence)),
        *variant_problems(evidence),
    ]


def lacking(evidence: PartsEvidence) -> list[str]:
    """Declared parts whose weights are not there, where those of another part are."""
    if not evidence.complete:
        return []
    with_weights = [part for part in evidence.parts if holds_weights(evidence, part)]
    there = {part: weights_there(evidence, part) for part in with_weights}
    if not any(there.values()):
        return []  # configs alone: nobody expects weights
    usable = any(
        weights and unloadable(evidence, part, weights) is None for part, weights in there.items()
    )
    return [
        part
        for part, weights in there.items()
        if not _is_optional(evidence, part)
        and (not weights or (usable and unloadable(evidence, part, weights) is not None))
    ]


def _is_optional(evidence: PartsEvidence, part: str) -> bool:
    """Whether a part that is not there at all may be left out: what is there in part may not."""
    is_there = evidence.has_folder(part)
    return evidence.is_pipeline and not is_there and may_be_left_out(part, evidence.declared[part])


def _missing(evidence: PartsEvidence) -> Iterator[Problem]:
    if not evidence.complete:
        return
    without_weights = lacking(evidence)
    for part in without_weights:
        yield _without_weights(evidence, part)
    is_weighty = any(
        weights_there(evidence, part) for part in evidence.parts if holds_weights(evidence, part)
    )
    for part in evidence.parts if is_weighty else ():
        if part not in without_weights:
            yield from _without_files(evidence, part)


def _without_weights(evidence: PartsEvidence, part: str) -> Problem:
    """A part of which there is nothing, a config alone, or weights that its class does not load."""
    shown = part or "the transformer in the root"
    kind = evidence.declared[part]
    weights = weights_there(evidence, part)
    form = unloadable(evidence, part, weights)
    inside = evidence.place(part) if evidence.has_folder(part) else {}
    if form is not None:
        text = f"{shown}: its weights are there in {form} alone, which {kind} does not load"
    elif inside:
        text = f"{shown}: its weights are not there, only {_some(sorted(inside))}"
    else:
        text = f"{shown} is not there: its folder is missing"
    return Problem(
        "missing_part",
        text,
        1,
        shown,
        f"{evidence.naming} declares it as {kind}",
        "download the part, or all of the repo, again",
        evidence.naming,
        names=(shown,),
    )


def _without_files(evidence: PartsEvidence, part: str) -> Iterator[Problem]:
    """A part whose folder, or the file in it that its class reads, is not there."""
    needed = needed_file(evidence, part)
    if needed is None or any(needed.fullmatch(name) for name in evidence.place(part)):
        return
    declared = evidence.declared[part]
    has_folder = evidence.has_folder(part)
    is_optional = not has_folder and may_be_left_out(part, declared)
    if not has_folder:
        text = f"{part} is not there: its folder is missing"
    elif evidence.is_pipeline:
        text = f"{part}: its folder has none of the files that {declared} reads"
    else:
        text = f"{part}: its {config_name(declared)} is missing, without which it cannot be made"
    yield Problem(
        "missing_part",
        text,
        1,
        part,
        f"{evidence.naming} declares it as {declared}",
        f"load with {part}=None" if is_optional else f"download {part} again",
        evidence.naming,
        "note" if is_optional else "error",
        names=(part,),
    )


#: Files that a problem names.
_SHOWN = 3


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
