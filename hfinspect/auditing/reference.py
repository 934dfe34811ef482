"""The model that another one is audited against."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from ..checkpoints.one_file import read_config
from ..checkpoints.read import read_checkpoint
from ..core.checkpoint import Checkpoint, Shard
from ..core.tensor import StoredTensor, nbytes_of
from ..errors import ConfigError, NothingToInspectError
from ..sources.source import Source
from ..trees.prediction import predict


def read_reference(
    source: Source, file: str | None
) -> tuple[Checkpoint, Mapping[str, object] | None]:
    """Its weights and its config; where it has a config alone, what that predicts stands for the
    weights.

    Raises what reading the weights raises, and for a config alone what ``predict`` raises.
    """
    config = None
    picked = file if file is not None and file.endswith("config.json") else None
    with suppress(ConfigError):  # a broken one says nothing of the weights
        config = read_config(source, picked or "config.json")
    if picked is not None and config is not None:
        return _predicted(config), config
    try:
        return read_checkpoint(source, file=file), config
    except NothingToInspectError:
        if config is None:
            raise
        return _predicted(config), config


def _predicted(config: Mapping[str, object]) -> Checkpoint:
    prediction = predict(config)
    tensors = []
    for spec in prediction.tensors:
        dtype = spec.dtype or prediction.dtype or "F32"
        nbytes = nbytes_of(dtype, spec.elements) or 0
        tensors.append(StoredTensor(spec.name, dtype, spec.shape, spec.elements, nbytes))
    return Checkpoint("config", (Shard("config.json", "config", tuple(tensors), None, 0),))
