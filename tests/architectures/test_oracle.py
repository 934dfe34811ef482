"""Predictions against what transformers saves (recorded by tests/oracle/record.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from hfinspect.architectures.modules import Module
from hfinspect.architectures.prediction import Prediction, predict

from . import recordings

CASES = [
    pytest.param(path, spelling, id=f"{path.parent.name}/{path.stem}[{spelling}]")
    for path in recordings.paths()
    for spelling in recordings.spellings(recordings.load(path))
]


def lines(prediction: Prediction) -> list[str]:
    return [recordings.line(t.name, t.shape, t.dtype) for t in prediction.tensors]


@pytest.mark.parametrize(("path", "spelling"), CASES)
def test_prediction_is_what_a_save_writes(path: Path, spelling: str) -> None:
    """Names, shapes and buffer dtypes of every tensor, and the unique parameters."""
    record = recordings.load(path)
    prediction = predict(recordings.spellings(record)[spelling])
    predicted = lines(prediction)
    assert len(set(predicted)) == len(predicted)
    if recordings.is_default(record):
        bare = [recordings.line(t.name, t.shape) for t in prediction.tensors]
        found: object = (prediction.parameters, len(bare), recordings.digest(bare))
        assert found == (record["parameters"], record["count"], record["digest"])
        return
    expected = set(record["tensors"])
    assert (sorted(expected - set(predicted)), sorted(set(predicted) - expected)) == ([], [])
    assert prediction.parameters == record["parameters"]


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, id=p.stem) for p in recordings.paths() if "classes" in recordings.load(p)],
)
def test_class_names_are_the_real_ones(path: Path) -> None:
    """Where a module path exists in both trees, the class name is transformers' own."""
    record = recordings.load(path)
    root = predict(recordings.spellings(record)["given"]).root
    assert root.class_name == record["architecture"]
    differing = {
        name: (module.class_name, record["classes"][name])
        for name, module in modules(root)
        if name in record["classes"] and module.class_name != record["classes"][name]
    }
    assert differing == {}


def modules(module: Module, prefix: str = "") -> list[tuple[str, Module]]:
    found = []
    for name, child in module.children.items():
        if isinstance(child, Module):
            found.append((prefix + name, child))
            found += modules(child, f"{prefix}{name}.")
    return found
