"""HI346 and HI347: which modules are packed, next to what the config says of it."""

from collections.abc import Iterator

from ...inspecting.judging.packed_layers import SOURCE
from ..facts.problems import finding_of, problems
from ..facts.target import TargetFacts
from ..registry import RuleFinding, rule


@rule("HI346", "packing-contract", "error")
def packing_contract(facts: TargetFacts) -> Iterator[RuleFinding]:
    """Packed modules contradict what the config says of them, or lack what unpacks them.

    Why: loaders make plain layers of what the config leaves out, and packed ones of the rest; what
    does not fit stays as it was initialised, or is unpacked wrongly.

    Fix: correct the list of modules in quantization_config, or save the packed weights again.
    """
    for folder, problem in problems(facts, "broken_contract"):
        if problem.source == SOURCE:
            yield finding_of(folder, problem)


@rule("HI347", "unpacked-modules", "warning")
def unpacked_modules(facts: TargetFacts) -> Iterator[RuleFinding]:
    """Matrices are in 16 bits, and the config that packs the model excludes none of them.

    Why: loaders make packed layers of them and find no packed weights; a model that is called
    four bits may have most of its bytes in sixteen.

    Fix: list the modules that are not converted, or pack them.
    """
    for folder, problem in problems(facts, "unpacked_modules"):
        yield finding_of(folder, problem)
