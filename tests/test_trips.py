"""A trip enters each room once: one prediction, one result."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType

import hfinspect
from hfinspect.core.results import Inspection
from hfinspect.trees.prediction import predict

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


def calls(of: Callable[..., object], work: Callable[[], object]) -> int:
    """How often ``work`` calls a function."""
    counts: Counter[CodeType] = Counter()

    def count(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            counts[frame.f_code] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counts[of.__code__]


def test_explaining_predicts_once() -> None:
    model = FIXTURES / "models/gpt2"
    assert calls(predict, lambda: hfinspect.explain(model)) == 1
    assert calls(predict, lambda: hfinspect.memory(model)) == 1


def test_a_result_is_made_once() -> None:
    """One for the whole, and one for each part of a model of several."""
    wrong, read = {}, 0
    for target in sorted((FIXTURES / "checkpoints").iterdir()):
        found: list[Inspection] = []

        def work(target: Path = target, found: list[Inspection] = found) -> None:
            with suppress(hfinspect.HfinspectError):  # a folder of models, or of damaged ones
                found.append(hfinspect.inspect(target))

        made = calls(Inspection.__init__, work)
        read += len(found)
        if found and made != 1 + len(found[0].members):
            wrong[target.name] = made
    assert wrong == {}
    assert read > 8
