"""HI349: values that loaders refuse, or read otherwise than they say."""

from collections.abc import Iterator

from ...inspecting.judging.config_values import SOURCE
from ..facts.problems import finding_of, problems
from ..facts.target import TargetFacts
from ..registry import RuleFinding, rule


@rule("HI349", "refused-value", "warning")
def refused_value(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A value in config.json or tokenizer_config.json is refused by a loader, or read otherwise
    than it says.

    Why: an error is what the newest transformers and vLLM both stop at; a warning is what one of
    them, or an earlier release, stops at while others load the model.

    Fix: correct the value, or load with the library that takes it.
    """
    for folder, problem in problems(facts, "odd_values", "broken_contract"):
        if problem.kind == "odd_values" or problem.source == SOURCE:
            finding = finding_of(folder, problem)
            path = folder.path + finding.file if finding.file in _IN_FOLDER else finding.file
            yield finding._replace(file=path, tensor=None)


#: Files that a problem names as they are called in the folder of the model.
_IN_FOLDER = ("config.json", "tokenizer_config.json")
