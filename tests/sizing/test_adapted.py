"""Parameters of adapters, against what peft trains (tests/oracle/record_adapters.py)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import hfinspect
from hfinspect.errors import UsageError
from hfinspect.sizing import peft_types
from hfinspect.sizing.lora import ALL_LINEAR, find_adapters, parse_targets, saved_whole
from hfinspect.trees.prediction import Prediction

from ..cli.program import ROOT
from ..oracle.record_adapters import RANK, cases, config_of
from ..oracle_folder import ORACLE

ROWS: dict[str, dict[str, Any]] = {
    row["model_type"]: row for row in json.loads((ORACLE / "adapters.json").read_text())
}


@cache
def _first() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    return {entry["model_type"]: (entry, case) for entry, case in cases()}


def _predicted(kind: str) -> Prediction:
    entry, case = _first()[kind]
    names = {"model_type": kind, "architectures": [case["architecture"]]}
    return hfinspect.predict({**config_of(entry, case), **names})


def _counted(prediction: Prediction, targets: str, saved: str = "") -> int | None:
    """None where it is refused."""
    names = () if targets == "default" else parse_targets(targets)
    try:
        whole = saved_whole(prediction, parse_targets(saved)) if saved else {}
        groups = find_adapters(prediction, names).groups(RANK)
    except UsageError:
        return None
    return sum(group.parameters for group in groups) + sum(whole.values())


def test_counts_are_those_of_peft_or_refused() -> None:
    """At the default targets and at every linear layer, for each recorded type."""
    equal = 0
    refused = set()
    wrong = []
    for kind, row in ROWS.items():
        prediction = _predicted(kind)
        for asked in ("default", ALL_LINEAR):
            count = _counted(prediction, asked)
            if count is None and row[asked] is not None:
                refused.add(kind)
            elif count != row[asked]:
                wrong.append((kind, asked, count, row[asked]))
            else:
                equal += count is not None
    # In transformers 5 peft finds no default targets for Mixtral; ours are those of its table.
    assert wrong == [("mixtral", "default", 896, None)]
    assert refused <= peft_types.RENAMED | peft_types.NOT_ALL_LINEAR | {"gemma4"}
    assert equal > 500


def _named() -> Iterator[tuple[str, str, int | None]]:
    for kind, row in ROWS.items():
        for asked, count in row.get("named", {}).items():
            yield kind, asked, count


@pytest.mark.parametrize(("kind", "asked", "count"), list(_named()))
def test_named_targets_and_modules_to_save(kind: str, asked: str, count: int | None) -> None:
    """Tables, heads, experts by their names before transformers 5, and copies of whole modules."""
    targets, _, saved = asked.partition(" ")
    assert _counted(_predicted(kind), targets, saved) == count


def test_experts_by_hand() -> None:
    """Mixtral, rank 2: 32 layers of attention, a router and 8 experts, whose gate and up are one
    matrix with twice the rank."""
    prediction = hfinspect.predict(str(ROOT / "fixtures" / "models" / "mixtral-8x7b"))
    groups = find_adapters(prediction, (ALL_LINEAR,)).groups(2)
    attention = 2 * (4096 + 4096) + 2 * (4096 + 1024)
    expert = 2 * (4096 + 2 * 14336) + (14336 + 4096)
    each = attention + (4096 + 8) + 8 * expert
    assert sum(group.parameters for group in groups) == 32 * 2 * each


@pytest.mark.parametrize(
    ("model", "targets", "words"),
    [
        ("mixtral-8x7b", "w1", "w1 and w3 together"),
        ("llama-3-8b", "w1", "not a linear layer"),
        ("mamba-2.8b", "all-linear", "PEFT has no adapters"),
    ],
)
def test_what_peft_refuses_is_refused_by_name(model: str, targets: str, words: str) -> None:
    prediction = hfinspect.predict(str(ROOT / "fixtures" / "models" / model))
    with pytest.raises(UsageError) as caught:
        find_adapters(prediction, parse_targets(targets))
    assert words in f"{caught.value} {caught.value.expected}"


def test_a_module_to_save_is_a_copy_in_the_weights_own_bits() -> None:
    llama = str(ROOT / "fixtures" / "models" / "llama-3-8b")
    training = hfinspect.memory(llama, train="lora", modules_to_save="lm_head").training
    assert training is not None
    assert training.saved == {"lm_head": 128_256 * 4096}
    assert training.trainable == 2 * 3_407_872 + 128_256 * 4096
    whole = [line.nbytes for line in training.states if line.name.startswith("saved whole")]
    assert sum(whole) == 8 * 128_256 * 4096
    assert training.total is None
    with pytest.raises(UsageError, match="not a module of this model"):
        hfinspect.memory(llama, train="lora", modules_to_save="score")
