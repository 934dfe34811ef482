"""Predictions against what transformers saves (recorded by tests/oracle/record.py).

One test a family, which goes through its recordings and through every spelling of a recording's
config, and names those that differ: the first ones of each class, and all of them with
``pytest -m all_recordings``.
"""

from __future__ import annotations

from typing import Any

import pytest

from hfinspect.trees.modules import Module
from hfinspect.trees.prediction import Prediction, predict

from . import recordings

FAMILIES = recordings.FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_prediction_is_what_a_save_writes(family: str) -> None:
    """Names, shapes and buffer dtypes of every tensor, the unique parameters, and the classes."""
    assert all_differences(recordings.sample(family)) == {}, recordings.advice(family)
    assert class_names(recordings.sample(family)) == {}, (
        f"{family}: give these modules the class names of the library (theirs is the second)"
    )


@pytest.mark.all_recordings
@pytest.mark.parametrize("family", FAMILIES)
def test_every_recording(family: str) -> None:
    assert all_differences(recordings.of(family)) == {}, recordings.advice(family)
    assert class_names(recordings.of(family)) == {}


def test_the_sample_has_every_class() -> None:
    for family in FAMILIES[::20]:
        sample = recordings.sample(family).values()
        whole = recordings.of(family).values()
        assert {r["architecture"] for r in sample} == {r["architecture"] for r in whole}


def all_differences(records: dict[str, dict[str, Any]]) -> dict[str, object]:
    return {
        f"{label}[{spelling}]": text
        for label, record in records.items()
        for spelling, text in differences(record).items()
    }


def differences(record: dict[str, Any]) -> dict[str, object]:
    """What differs, by spelling of the config; for most recordings nothing."""
    by_key: dict[str, object] = {}
    same: Prediction | None = None
    for spelling, config in recordings.spellings(record).items():
        prediction = predict(config)
        if same is not None and prediction.tensors == same.tensors:
            continue  # as good as the spelling that was compared in full
        compare = default_difference if recordings.is_default(record) else difference
        told = compare(prediction, record)
        if told:
            by_key[spelling] = told
        else:
            same = prediction
    return by_key


def difference(prediction: Prediction, record: dict[str, Any]) -> object:
    """Lines that are recorded and not predicted, predicted and not recorded or twice, and counts;
    None if there is nothing to say."""
    lines = [recordings.line(t.name, t.shape, t.dtype) for t in prediction.tensors]
    expected = set(record["tensors"])
    predicted = set(lines)
    if (
        expected == predicted
        and len(predicted) == len(lines)
        and prediction.parameters == record["parameters"]
    ):
        return None
    return {
        "missing": sorted(expected - predicted),
        "unexpected": sorted(predicted - expected),
        "twice": len(lines) - len(predicted),
        "parameters": (prediction.parameters, record["parameters"]),
    }


def default_difference(prediction: Prediction, record: dict[str, Any]) -> object:
    """The same where only a digest of all lines (without dtypes) is recorded."""
    lines = [recordings.line(t.name, t.shape) for t in prediction.tensors]
    sums = (prediction.parameters, len(lines), recordings.digest(lines))
    expected = (record["parameters"], record["count"], record["digest"])
    return None if sums == expected else {"found": sums, "expected": expected}


def class_names(records: dict[str, dict[str, Any]]) -> dict[str, object]:
    """What differs, ours and transformers' own, where a module path exists in both trees."""
    differing: dict[str, object] = {}
    for label, record in records.items():
        if "classes" not in record:
            continue
        root = predict(recordings.spellings(record)["given"]).root
        real = {"": record["architecture"], **record["classes"]}
        for name, module in (("", root), *modules(root)):
            if module.class_name != real.get(name, module.class_name):
                differing[f"{label} {name}"] = (module.class_name, real[name])
    return differing


def modules(module: Module, prefix: str = "") -> list[tuple[str, Module]]:
    pairs = []
    for name, child in module.children.items():
        if isinstance(child, Module):
            pairs.append((prefix + name, child))
            pairs += modules(child, f"{prefix}{name}.")
    return pairs
