"""Estimate beside measurement: what differs, tensor by tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..analysis.labels.lookup import spec_finder
from ..core.explanation import Difference, Measurement
from ..core.results import Inspection
from ..trees.prediction import Prediction


def measured(inspection: Inspection, prediction: Prediction) -> Measurement:
    """An inspection of headers beside the prediction of the same model's config."""
    differences = tuple(_differences(inspection, prediction))
    unexplained = None
    if inspection.parameters is not None:
        explained = prediction.parameters + sum(d.parameters for d in differences)
        unexplained = inspection.parameters - explained
    return Measurement(
        inspection.parameters,
        {name: totals.parameters for name, totals in inspection.components.items()},
        differences,
        unexplained,
        inspection.complete,
    )


def _differences(inspection: Inspection, prediction: Prediction) -> Iterator[Difference]:
    expectation = inspection.expectation
    if expectation is None:
        return
    predicted = {spec.name: spec for spec in prediction.tensors}
    for name in expectation.missing:
        if predicted[name].parameters:
            yield Difference(name, "predicted, in no file", -predicted[name].parameters)
    unexpected, find = set(expectation.unexpected), spec_finder(prediction)
    for info in inspection.tensors:
        if info.tied_to is not None or info.beyond is not None or not info.parameters:
            continue
        if info.name in unexpected:
            yield Difference(info.name, "not predicted", info.parameters)
            continue
        spec = find(info.name)
        if info.name in expectation.reshaped:
            held, expected = expectation.reshaped[info.name]
            size = predicted[spec.name].parameters if spec and spec.name in predicted else 0
            if spec is None:  # told from a name that is not the tree's (GGUF)
                size = math.prod(expected)
            if info.parameters != size:
                text = f"of shape {_shape(held)}, predicted {_shape(expected)}"
                yield Difference(info.name, text, info.parameters - size)
        elif spec is not None and not spec.saved:
            yield Difference(info.name, "transformers neither loads nor saves it", info.parameters)
        elif spec is not None and spec.tied_to is not None:
            yield Difference(info.name, "stored, though the class ties it", info.parameters)


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(str(size) for size in shape) or "scalar"
