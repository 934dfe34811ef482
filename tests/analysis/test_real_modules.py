"""Names alone against transformers' own modules, on every class that the library has.

What each tensor really is was recorded from the modules (``tests/oracle/record_modules.py``);
``python -m tests.oracle.record_modules --rates`` prints each difference.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import NamedTuple

import pytest

from hfinspect.analysis.labels.place import place_stored
from hfinspect.core.checkpoint import Shard
from hfinspect.core.components import Role
from hfinspect.core.tensor import StoredTensor

from ..oracle.real_modules import RealClass, real_classes

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
    placed = place_stored([shard], None, {}).tensors
    found = Judged(Counter(), Counter(), [], 0.0)
    real = total = 0
    for tensor, row in zip(placed, one.rows.values(), strict=True):
        role = Role.PARAMETER if row.is_parameter else Role.BUFFER
        real += row.elements * row.is_parameter
        total += row.elements * (tensor.role is Role.PARAMETER)
        pairs = [(str(tensor.role), str(role))]
        if row.kind is not None:
            pairs.append((str(tensor.component), row.kind))
        for said, group in pairs:
            found.whole[group] += 1
            if said != group:
                found.wrong[group] += 1
                found.lines.append(f"{one.name} {tensor.name}: {said}, {group}")
    return found._replace(off=(total - real) / max(real, 1))


@cache
def everything() -> dict[tuple[str, str], Judged]:
    return {(one.model_type, one.name): judged(one) for one in real_classes()}


@pytest.mark.parametrize(
    "group",
    ["buffer", "parameter", "embedding", "attention", "mlp", "norm", "head", "router", "ssm"],
)
def test_names_say_what_the_modules_are(group: str) -> None:
    whole = sum(one.whole[group] for one in everything().values())
    wrong = sum(one.wrong[group] for one in everything().values())
    assert whole > 100
    assert wrong <= RATE * whole


def test_totals_by_names_alone() -> None:
    off = {cls: one.off for cls, one in everything().items() if abs(one.off) > TOTAL}
    assert not off
