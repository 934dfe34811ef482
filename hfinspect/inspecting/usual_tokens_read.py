"""Tokens of a usual image and sound, for the first screen: by files that are near, and by
config.json alone of a repo on the Hub, so that nothing more is read."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..checkpoints.read import read_model
from ..core.checkpoint import Checkpoint
from ..core.media_tokens import MediaTokens
from ..errors import HfinspectError
from ..sources.source import Source
from .build import Inspected
from .mmproj import holds_projector, is_beside, tensor_names


def usual_of_config(inspected: Inspected, source: Source | None) -> Inspected:
    """By the processor's files, or what config.json declares."""
    from ..media.usual_items import usual_tokens
    from .processor_files import read_files

    files: Mapping[str, Mapping[str, Any]] = {}
    if source is not None and source.is_near:
        with suppress(HfinspectError):  # memory --image says what is wrong with them
            files = read_files(source)[0]
    inspection = inspected.inspection
    return _with(inspected, usual_tokens(inspection.model_type, inspection.config or {}, files))


def usual_of_gguf(inspected: Inspected, source: Source | None) -> Inspected:
    """By the keys of the mmproj file: this file, or the first that lies next to the model."""
    projector, name = _projector(inspected, source)
    if projector is None:
        return inspected
    from ..media.llama_cpp.counting import usual_by_llama_cpp

    metadata = projector.shards[0].metadata
    return _with(inspected, usual_by_llama_cpp(name, metadata, tensor_names(projector)))


def _projector(inspected: Inspected, source: Source | None) -> tuple[Checkpoint | None, str]:
    checkpoint = inspected.checkpoint
    if checkpoint is None or not checkpoint.shards:
        return None, ""
    first = checkpoint.shards[0]
    if holds_projector(first.metadata):
        return checkpoint, first.file
    if source is None or not source.is_near:
        return None, ""
    folder = first.file.rpartition("/")[0]
    for name in sorted(name for name in source.list_files() if is_beside(name, folder)):
        with suppress(HfinspectError):
            near = read_model(source, file=name).checkpoint
            if near is not None and near.shards and holds_projector(near.shards[0].metadata):
                return near, name
    return None, ""


def _with(inspected: Inspected, media: tuple[MediaTokens, ...]) -> Inspected:
    return inspected._replace(inspection=replace(inspected.inspection, media=media))
