"""HI34x, HI35x: the parts of a repo of several, together."""

from collections.abc import Iterator

from ...core.wholeness import ProblemKind
from ..facts.problems import finding_of, problems, problems_between_parts
from ..facts.target import TargetFacts
from ..registry import RuleFinding, rule


@rule("HI344", "parts-differ", "error")
def parts_differ(facts: TargetFacts) -> Iterator[RuleFinding]:
    """Sizes or classes of two parts that meet contradict each other, as their configs say.

    Why: each part loads, and the model fails when one is given what the other makes: text of
    another width, latents of other channels, texts longer than the positions.

    Fix: take the parts from one release, or correct the config that is wrong.
    """
    for folder, problem in problems(facts, "parts_differ"):
        yield finding_of(folder, problem)
    yield from _between(facts, "parts_differ")


@rule("HI350", "part-missing", "error")
def part_missing(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A part that model_index.json or modules.json declares is not there, or is without its weights
    or the file that its class reads.

    Why: the model does not load as a whole.

    Fix: download the part, or do not declare it.
    """
    yield from _between(facts, "missing_part")


def _between(facts: TargetFacts, kind: ProblemKind) -> Iterator[RuleFinding]:
    """The part is named in the text: it is no tensor."""
    for problem in problems_between_parts(facts, kind):
        yield RuleFinding(
            problem.sentence, problem.file, None, problem.fix or None, problem.severity
        )
