"""The model that files are only a part of: its size by its config, or else by its index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..core.checkpoint import Checkpoint
from ..core.results import Inspection
from ..core.wholeness import OTHER_SIZE
from ..trees.prediction import Prediction
from .build import Inspected, from_prediction


def as_whole(inspected: Inspected) -> Inspected:
    """What ``memory`` and engines are to size: where files are missing, empty or of other shapes,
    the whole model as config.json describes it; without a config that is known, the bytes that an
    index states. The judgement stays."""
    inspection = inspected.inspection
    kinds = {problem.kind for problem in inspection.problems if problem.stops_loading}
    if not kinds & OTHER_SIZE or inspection.source == "config" or inspection.format == "gguf":
        return inspected
    prediction = inspected.prediction
    if prediction is not None and not inspection.members:
        return inspected._replace(inspection=_by_config(inspection, prediction))
    nbytes = _by_index(inspected.checkpoint)
    if nbytes is None or inspection.members:
        return inspected
    by_index = replace(inspection, nbytes=nbytes, parameters=None, sized_by="index")
    return inspected._replace(inspection=by_index)


def _by_config(inspection: Inspection, prediction: Prediction) -> Inspection:
    """In the dtype of the files that are there, where all have one: a config may name another."""
    stored = _one_dtype(inspection)
    if stored is not None and inspection.quantization is None:
        prediction = replace(prediction, dtype=stored)
    sized = from_prediction(
        inspection.target,
        inspection.origin,
        prediction,
        config=inspection.config,
        findings=inspection.findings,
        layout=inspection.layout,
    )
    return replace(
        sized,
        whole=inspection.whole,
        problems=inspection.problems,
        sized_by="config",
    )


def _one_dtype(inspection: Inspection) -> str | None:
    dtypes: Mapping[str, object] = inspection.dtypes
    return next(iter(dtypes)) if len(dtypes) == 1 else None


def _by_index(checkpoint: Checkpoint | None) -> int | None:
    """The ``total_size`` of the index [bytes]; None where there is none."""
    if checkpoint is None or checkpoint.index is None:
        return None
    claim = checkpoint.index.metadata.get("total_size")
    return claim if type(claim) is int and claim > 0 else None
