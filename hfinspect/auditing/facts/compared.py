"""Checkpoints next to their configs, as the HI3 rules look at them."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

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
        copy = folder.main
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


def respelled(c: Compared) -> bool:
    """Whether these seem to be the predicted tensors under the names of another layout: hardly a
    name is known, and there are about as many."""
    predicted = len(c.prediction.tensors)
    in_files = len(c.infos)
    few = 10 * len(c.expectation.missing) >= 9 * predicted
    return few and abs(in_files - predicted) * 10 <= predicted


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
