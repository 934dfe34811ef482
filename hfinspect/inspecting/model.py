"""What was read of a model, as the inspection that fits its layout."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from ..checkpoints.read import ModelFiles
from ..checkpoints.repo_layout import Layout
from ..core.checkpoint import Checkpoint, Finding
from ..core.refs import Origin
from ..layers.sentence_modules import FAMILY
from .adapter import Inspect, adapter_of
from .build import Inspected, ReadContext
from .config_alone import OPEN_CLIP_FILE
from .judging.parts_there import judged_with_parts
from .mmproj import about_mmproj, is_mmproj
from .pipelines import evidence_of, has_parts, inspect_parts
from .single import inspect_weights


def inspect_read(
    name: str, origin: Origin, read: ModelFiles, reach: Inspect, unfinished: Sequence[str] = ()
) -> Inspected | None:
    """The inspection of the weights that were read, or None if there are none.

    ``reach`` inspects the base model of an adapter; ``unfinished`` is what an interrupted download
    left.
    """
    if has_parts(read):
        return Inspected(inspect_parts(name, origin, read))
    checkpoint = read.checkpoint
    if checkpoint is None:
        return None
    findings = _findings(read)
    if read.layout is Layout.ADAPTER and is_mmproj(checkpoint):
        findings.append(about_mmproj(checkpoint))
        known = ReadContext(findings, "model", contents_of(checkpoint), files=read.files)
        # A config next to it is that of the whole model.
        return inspect_weights(name, origin, checkpoint, None, read.companions, known=known)
    if read.layout is Layout.ADAPTER:
        settings = read.companions.get("adapter_config.json")
        adapter, last, base = adapter_of(settings, origin, reach)
        known = ReadContext(
            findings,
            read.layout.value,
            adapter=adapter,
            last=last,
            files=read.files,
            base_config=read.config if base is None else base.config,
        )
        # A config next to an adapter is that of the base model.
        return inspect_weights(name, origin, checkpoint, None, read.companions, known=known)
    known = ReadContext(
        findings,
        read.layout.value,
        contents_of(checkpoint),
        read.variants,
        files=read.files,
        unfinished=unfinished,
        config_error="" if read.config_error is None else str(read.config_error),
    )
    inspected = inspect_weights(
        name,
        origin,
        checkpoint,
        read.config,
        read.companions,
        declared=read.declared_class,
        known=known,
    )
    if read.layout is Layout.MODULES and read.declared:
        judged = judged_with_parts(inspected.inspection, evidence_of(read))
        inspected = inspected._replace(inspection=judged)
    if inspected.prediction is not None and inspected.prediction.family is FAMILY:
        return inspected._replace(prediction=None)  # of the repo's class, not of the config alone
    return inspected


def _findings(read: ModelFiles) -> list[Finding]:
    findings = list(read.findings)
    if read.config_error is not None:
        findings.append(Finding("config", str(read.config_error), "config.json"))
    if read.config is None and OPEN_CLIP_FILE in read.files:
        text = "is the config of another library, and not read; labels are known from tensor names"
        findings.append(Finding("other-config", text, OPEN_CLIP_FILE, severity="note"))
    return findings


# ---- what a weight file says of itself: GGUF's key-values, pickled extras

#: Entries of a training checkpoint that are listed.
_MAX_LISTED = 50


def contents_of(checkpoint: Checkpoint) -> dict[str, object]:
    """Facts by name, of plain JSON types; empty where the format has none."""
    metadata = checkpoint.shards[0].metadata if checkpoint.shards else {}
    if checkpoint.format == "gguf":
        from ..formats.gguf.metadata import describe

        facts = asdict(describe(metadata))
        return {key: value for key, value in facts.items() if value not in (None, False)}
    if checkpoint.format == "torch":
        return _pickled(metadata, [shard.format for shard in checkpoint.shards])
    return {}


def _pickled(metadata: Mapping[str, object], formats: Sequence[str]) -> dict[str, object]:
    contents: dict[str, object] = {}
    if "torchscript" in formats:
        contents["archive"] = "TorchScript"
        contents["code_files"] = metadata.get("code_files")
    elif metadata.get("legacy") is True:
        contents["archive"] = "PyTorch before 1.6"
    if metadata.get("kind") not in (None, "state_dict"):
        contents["kind"] = metadata["kind"]
    if metadata.get("state_dict"):
        contents["model_in"] = metadata["state_dict"]
    others = metadata.get("other_keys")
    if isinstance(others, list) and others:
        contents["also_holds"] = [str(key) for key in others[:_MAX_LISTED]]
    return contents
