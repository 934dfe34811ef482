"""Where two parts of a pipeline meet: a size of one that has to be what others make of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...core.wholeness import Problem
from .part_sizes import PartSize, size_of
from .parts_declared import PartsEvidence
from .pipeline_seams import SEAMS
from .seam_terms import Seam, SeamTerm, Way


class _Misfit(NamedTuple):
    """A size that is none of those expected, and what others say of theirs."""

    size: PartSize
    expected: tuple[int, ...]
    others: Mapping[str, PartSize]


def seam_problems(evidence: PartsEvidence) -> Iterator[Problem]:
    """Where the configs of parts contradict each other at the seams of the pipeline's class: one
    problem for the parts that do not fit, of however many sizes."""
    misfits: dict[tuple[str, ...], list[_Misfit]] = {}
    for seam in SEAMS.get(evidence.class_name or "", ()):
        misfit = _misfit(seam, evidence)
        if misfit is not None:
            misfits.setdefault((seam.part, *misfit.others), []).append(misfit)
    for names, these in misfits.items():
        yield _problem(names, these, evidence)


def _problem(names: tuple[str, ...], misfits: list[_Misfit], evidence: PartsEvidence) -> Problem:
    part = names[0]
    sizes = [
        f"{one.size.key} is {one.size.value:,}, expected "
        f"{' or '.join(f'{value:,}' for value in one.expected)}"
        for one in misfits
    ]
    theirs = dict.fromkeys(
        f"{size.key} {size.value:,} in {other}"
        for one in misfits
        for other, size in one.others.items()
    )
    text = f"{part} does not fit {' and '.join(names[1:])}: its {' and its '.join(sizes)}"
    return Problem(
        "parts_differ",
        f"{text} by {' and '.join(theirs)}",
        len(names),
        part,
        fix="take these parts from one release of the pipeline",
        file=evidence.config_path(part),
        names=names,
    )


def _misfit(seam: Seam, evidence: PartsEvidence) -> _Misfit | None:
    """None where the size is right, and where one of the sizes is not known."""
    here = _size(evidence, seam.part, seam.size)
    if here is None:
        return None
    expected: set[int] = set()
    others: dict[str, PartSize] = {}
    for way in seam.ways:
        terms = _terms(seam, way, evidence)
        if not terms:
            return None
        expected.add(way.plus + sum(term.factor * size.value for term, size in terms))
        others |= {term.part: size for term, size in terms if term.part != seam.part}
    return None if here.value in expected else _Misfit(here, tuple(sorted(expected)), others)


def _terms(seam: Seam, way: Way, evidence: PartsEvidence) -> list[tuple[SeamTerm, PartSize]]:
    """The terms that count with their sizes; none where one of them is not known."""
    terms = [term for term in way.terms if not seam.of_declared or term.part in evidence.declared]
    sizes = [_size(evidence, term.part, term.size) for term in terms]
    known = [size for size in sizes if size is not None]
    return list(zip(terms, known, strict=True)) if len(known) == len(terms) else []


def _size(evidence: PartsEvidence, part: str, size: str) -> PartSize | None:
    config: Mapping[str, Any] | None = evidence.configs.get(part)
    declared = evidence.declared.get(part)
    if config is None or declared is None:
        return None
    return size_of(declared, config, size)
