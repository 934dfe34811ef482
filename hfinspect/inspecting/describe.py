"""What a weight file tells of itself beside its tensors: GGUF's key-values, pickled extras."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from ..checkpoints.variants import Variant
from ..core.checkpoint import Checkpoint
from ..core.results import VariantFile
from ..formats.gguf.gguf import describe

#: Entries of a training checkpoint that are listed.
_MAX_LISTED = 50


def contents_of(checkpoint: Checkpoint) -> dict[str, object]:
    """Facts by name, of plain JSON types; empty where the format tells none."""
    metadata = checkpoint.shards[0].metadata if checkpoint.shards else {}
    if checkpoint.format == "gguf":
        facts = asdict(describe(metadata))
        return {key: value for key, value in facts.items() if value not in (None, False)}
    if checkpoint.format == "torch":
        return _pickled(metadata, [shard.format for shard in checkpoint.shards])
    return {}


def _pickled(metadata: Mapping[str, object], formats: Sequence[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    if "torchscript" in formats:
        found["archive"] = "TorchScript"
        found["code_files"] = metadata.get("code_files")
    elif metadata.get("legacy") is True:
        found["archive"] = "PyTorch before 1.6"
    if metadata.get("kind") not in (None, "state_dict"):
        found["kind"] = metadata["kind"]
    if metadata.get("state_dict"):
        found["model_in"] = metadata["state_dict"]
    others = metadata.get("other_keys")
    if isinstance(others, list) and others:
        found["also_holds"] = [str(key) for key in others[:_MAX_LISTED]]
    return found


def variants_of(
    variants: Sequence[Variant], checkpoint: Checkpoint, parameters: int | None
) -> tuple[VariantFile, ...]:
    """The quantisations to choose from; all have the parameters of the one that was read."""
    taken = {shard.file for shard in checkpoint.shards}
    return tuple(
        VariantFile(item.label, item.files, item.size, parameters, taken == set(item.files))
        for item in variants
    )
