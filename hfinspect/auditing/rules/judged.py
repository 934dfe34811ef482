"""HI34x: what the judgement of a checkpoint says next to names and shapes."""

from collections.abc import Iterator

from ..facts.problems import finding_of, problems
from ..facts.target import TargetFacts
from ..registry import RuleFinding, rule


@rule("HI351", "empty-tensors", "error")
def empty_tensors(facts: TargetFacts) -> Iterator[RuleFinding]:
    """Weights have no element, where the config's class has some.

    Why: under ZeRO-3 each process holds a part of the weights, and a save that does not gather them
    first writes empty ones: the file loads as another model, or not at all.

    Fix: save again with the weights gathered (`stage3_gather_16bit_weights_on_model_save`), or run
    `zero_to_fp32.py` on the training checkpoint.
    """
    for folder, problem in problems(facts, "empty_tensors"):
        yield finding_of(folder, problem)


@rule("HI348", "prediction-layer-missing", "warning")
def prediction_layer_missing(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The config declares layers of multi-token prediction, and no file holds one.

    Why: the model answers, but engines cannot speculate with it, and some stop at start where they
    should.

    Fix: fetch or convert the layers too, or set the number in the config to 0.
    """
    for folder, problem in problems(facts, "missing_prediction_layer"):
        yield finding_of(folder, problem)
