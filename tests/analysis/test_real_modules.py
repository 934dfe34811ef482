"""Names alone against transformers' own modules, on every class that the library has.

What each tensor really is was recorded from the modules (``tests/oracle/record_modules.py``);
``python -m tests.oracle record modules --rates`` prints each difference.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import NamedTuple

import pytest

from hfinspect.analysis.labels.place import place_stored
from hfinspect.analysis.tensor_table import TensorTable
from hfinspect.core.checkpoint import Shard
from hfinspect.core.components import Role
from hfinspect.core.tensor import StoredTensor

from ..oracle.real_modules import FOLDER, RealClass, real_classes
from ..oracle_folder import ORACLE

#: What to do when names alone say something else.
_ADVICE = (
    "names alone give other components than the real modules: hfinspect/analysis/labels/ has the "
    "rules, and `python -m tests.oracle record modules --rates` prints each difference"
)

assert FOLDER.parent == ORACLE

#: Of parameters by names alone, next to the real ones.
TOTAL = 0.001
RATE = 0.01


class Judged(NamedTuple):
    """``whole``, ``wrong``: templates by group; ``off``: the total's error, relative."""

    whole: Counter[str]
    wrong: Counter[str]
    lines: list[str]
    off: float


def judged(one: RealClass) -> Judged:
    stored = tuple(
        StoredTensor(name, row.dtype, row.shape, row.elements, row.elements * 4)
        for name, row in one.rows.items()
    )
    shard = Shard("model.safetensors", "safetensors", stored, None, 0)
    placed = place_stored(TensorTable([shard]), None, {}).tensors
    judgement = Judged(Counter(), Counter(), [], 0.0)
    real = total = 0
    for tensor, row in zip(placed, one.rows.values(), strict=True):
        role = Role.PARAMETER if row.is_parameter else Role.BUFFER
        real += row.elements * row.is_parameter
        total += row.elements * (tensor.role is Role.PARAMETER)
        pairs = [(str(tensor.role), str(role))]
        if row.kind is not None:
            pairs.append((str(tensor.component), row.kind))
        for said, group in pairs:
            judgement.whole[group] += 1
            if said != group:
                judgement.wrong[group] += 1
                judgement.lines.append(f"{one.name} {tensor.name}: {said}, {group}")
    return judgement._replace(off=(total - real) / max(real, 1))


@cache
def everything() -> dict[tuple[str, str], Judged]:
    return {(one.model_type, one.name): judged(one) for one in real_classes()}


@pytest.mark.parametrize(
    "group",
    [
        "buffer",
        "parameter",
        "embedding",
        "attention",
        "mlp",
        "norm",
        "head",
        "router",
        "ssm",
        "conv",
        "projector",
    ],
)
def test_names_say_what_the_modules_are(group: str) -> None:
    whole = sum(one.whole[group] for one in everything().values())
    wrong = sum(one.wrong[group] for one in everything().values())
    assert whole > 100
    assert wrong <= RATE * whole, _ADVICE


def test_most_is_judged() -> None:
    """What the real classes say, next to all parameters; the rest is of no clear kind."""
    rows = [row for one in real_classes() for row in one.rows.values() if row.is_parameter]
    assert sum(row.kind is not None for row in rows) > 0.85 * len(rows)


def test_task_heads_are_heads() -> None:
    """What a class for a task has next to its base model, whatever it calls it."""
    heads: Counter[bool] = Counter()
    names: set[str] = set()
    for (_, name), one in everything().items():
        if "For" in name:
            heads[True] += one.whole["head"]
            heads[False] += one.wrong["head"]
    for real in real_classes():
        names |= {n.partition(".")[0] for n, row in real.rows.items() if row.kind == "head"}
    assert {"classifier", "score", "qa_outputs", "lm_head", "class_labels_classifier"} <= names
    assert len(names) > 50
    assert heads[True] > 1000
    assert heads[False] <= RATE * heads[True]


def test_totals_by_names_alone() -> None:
    off = {cls: one.off for cls, one in everything().items() if abs(one.off) > TOTAL}
    assert not off, _ADVICE
