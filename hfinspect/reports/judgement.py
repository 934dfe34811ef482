"""The judgement of a checkpoint, as every screen and page has it: before any number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..core.text import more_are
from ..core.wholeness import Problem, SizedBy
from .document import NOT_WHOLE, Block, Paragraph

#: Problems that are shown; the rest is counted (all of them are in the JSON form).
MAX_SHOWN = 3


def judgement(problems: Sequence[Problem], *, short: bool = False) -> Iterator[Paragraph]:
    """``not whole: 3 of 4 shards are missing``, a line each; nothing of what loads. ``short``: one
    line, where many models are shown."""
    stopping = [problem for problem in problems if problem.stops_loading]
    shown = stopping[: 1 if short else MAX_SHOWN]
    for problem in shown:
        yield Paragraph(problem.sentence, NOT_WHOLE)
    rest = len(stopping) - len(shown)
    if rest > 0 and not short:
        yield Paragraph(f"{more_are(rest, 'problem')} in --format json")


def remarks(problems: Iterable[Problem]) -> Iterator[Block]:
    """What helps, and what is to be known of a checkpoint that loads all the same."""
    all_problems = [*problems]
    for problem in all_problems:
        if not problem.stops_loading:
            yield Paragraph(problem.sentence, problem.severity)
    for problem in all_problems[:MAX_SHOWN]:
        if problem.fix:
            yield Paragraph(f"to mend it: {problem.fix}")


def of_the_whole(sized_by: SizedBy, loads: bool | None) -> str:
    """``the whole model, by its config``: whose size follows, where files are not the model."""
    if loads is not False or sized_by == "files":
        return ""
    return f"the whole model, by its {sized_by}"
