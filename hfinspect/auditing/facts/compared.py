"""Checkpoints next to their configs, as the HI3 rules look at them."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...analysis.renamed import is_beside
from ...core.components import Component, Role
from ...core.config import ModelConfig
from ...core.expectation import Expectation
from ...core.results import Inspection
from ...core.tensor import TensorInfo, TensorSpec
from ...errors import ConfigError
from ...trees.prediction import Prediction, config_dtype
from ..registry import RuleFinding
from .problems import finding_of
from .target import Copy, Folder, TargetFacts


class Compared(NamedTuple):
    """One folder whose config is in the catalog."""

    folder: Folder
    copy: Copy
    inspection: Inspection
    expectation: Expectation
    prediction: Prediction
    specs: Mapping[str, TensorSpec]
    infos: Mapping[str, TensorInfo]


def compared(facts: TargetFacts) -> Iterator[Compared]:
    for folder in facts.folders:
        judged = folder.judged
        copy = judged.copy
        inspection = judged.inspection
        prediction = judged.prediction
        if (
            copy is None
            or inspection is None
            or inspection.expectation is None
            or prediction is None
        ):
            continue
        if facts.single and copy.sharded:
            continue
        yield Compared(
            folder, copy, inspection, inspection.expectation, prediction, judged.specs, judged.infos
        )


def missing_of(c: Compared, *, head: bool) -> Iterator[RuleFinding]:
    """Parameters that the config predicts, no file holds, and no missing file explains, by cause:
    those of the head, or all others."""
    if not c.copy.readable and not c.copy.lost_names:
        return  # which tensors are in the lost files, nobody knows
    for problem in c.inspection.problems:
        if problem.kind not in ("missing_tensors", "missing_part"):
            continue
        spec = c.specs.get(problem.example or "")
        is_head = spec is not None and spec.component is Component.HEAD
        if is_head is head:
            yield finding_of(c.folder, problem)


def is_another(c: Compared) -> bool:
    """Whether hardly a tensor of the class is there, and there are others: another model, or one in
    the names of a library that is not known."""
    few = 10 * len(c.expectation.missing) >= 9 * len(c.prediction.tensors)
    strangers = 2 * len(c.expectation.unexpected) > len(c.infos)
    return few and strangers and c.copy.readable


def unexpected_names(c: Compared) -> Iterator[str]:
    """Names of tensors that the class does not have, but for those that a wrapper added, which is
    reported by itself."""
    wrapped = c.folder.judged.renamed is not None
    for name in c.expectation.unexpected:
        if not (wrapped and is_beside(name)):
            yield name


def reshaped_parameters(
    facts: TargetFacts,
) -> Iterator[tuple[Compared, TensorInfo, tuple[int, ...]]]:
    for c in compared(facts):
        for name, (stored, predicted) in c.expectation.reshaped.items():
            if c.infos[name].role is Role.PARAMETER and 0 not in stored:
                yield c, c.infos[name], predicted


def declared_dtype(config: Mapping[str, object] | None) -> str | None:
    """The config's dtype in the spelling of safetensors, None where it has none."""
    try:
        return config_dtype(ModelConfig(config)) if config is not None else None
    except ConfigError:
        return None
