"""Parameters of adapters, against what peft trains (tests/oracle/record_adapters.py)."""

from __future__ import annotations

import json
from typing import Any

import pytest

import hfinspect
from hfinspect.errors import UsageError
from hfinspect.sizing.lora import ALL_LINEAR, DEFAULT_TARGETS, adapted

from ..cli.program import ROOT
from ..oracle_folder import ORACLE

CASES: list[dict[str, Any]] = json.loads((ORACLE / "adapters.json").read_text())
#: Refused by their reason: targets that are a pattern, and experts in one tensor.
REFUSED = {("gemma4", "default"), ("llama4", ALL_LINEAR)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['model_type']}-{case['targets']}")
def test_parameters_are_those_of_peft(case: dict[str, Any]) -> None:
    names = {"model_type": case["model_type"], "architectures": [case["architecture"]]}
    prediction = hfinspect.predict({**case["config"], **names})
    targets = () if case["targets"] == "default" else (ALL_LINEAR,)
    if (case["model_type"], case["targets"]) in REFUSED:
        with pytest.raises(UsageError):
            adapted(prediction, case["rank"], targets)
        return
    _, groups = adapted(prediction, case["rank"], targets)
    assert sum(group.parameters for group in groups) == case["parameters"]


def test_many_types_are_recorded() -> None:
    recorded = {case["model_type"] for case in CASES if case["targets"] == "default"}
    assert len(recorded) >= 30
    assert len({case["model_type"] for case in CASES}) >= 40
    # chatglm needs code of its own; Mixtral's queries and values are recorded by hand.
    assert set(DEFAULT_TARGETS) - recorded <= {"chatglm", "mixtral"}


def test_experts_by_hand() -> None:
    """Mixtral, rank 2: 32 layers of attention, a router and 8 experts, whose gate and up are one
    matrix with twice the rank."""
    prediction = hfinspect.predict(str(ROOT / "fixtures" / "models" / "mixtral-8x7b"))
    _, groups = adapted(prediction, 2, (ALL_LINEAR,))
    attention = 2 * (4096 + 4096) + 2 * (4096 + 1024)
    expert = 2 * (4096 + 2 * 14336) + (14336 + 4096)
    each = attention + (4096 + 8) + 8 * expert
    assert sum(group.parameters for group in groups) == 32 * 2 * each
