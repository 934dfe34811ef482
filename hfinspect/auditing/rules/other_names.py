"""HI341: the tensors of the class under other names."""

from collections.abc import Iterator

from ..facts.problems import finding_of, problems
from ..facts.target import TargetFacts
from ..registry import RuleFinding, rule


@rule("HI341", "other-names", "error")
def other_names(facts: TargetFacts) -> Iterator[RuleFinding]:
    """Tensors carry the name of a wrapper, such as `_orig_mod.` of torch.compile.

    Why: a loader takes a tensor by its name; one that it does not know is left out, and the module
    keeps its random weights.

    Fix: save the model inside of the wrapper, or strip the wrapper's name.
    """
    for folder, problem in problems(facts, "other_names"):
        yield finding_of(folder, problem)
