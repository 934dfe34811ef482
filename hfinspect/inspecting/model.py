"""What was read of a model, as the inspection that fits its layout."""

from __future__ import annotations

from dataclasses import replace

from ..checkpoints.read import ModelFiles
from ..checkpoints.repo_layout import Layout
from ..core.checkpoint import Finding
from ..core.refs import Origin
from ..core.results import Inspection
from .adapter import Reach, with_adapter
from .describe import contents_of, variants_of
from .pipelines import has_parts, inspect_parts
from .promised import OPEN_CLIP_FILE
from .single import inspect_weights


def inspect_read(name: str, origin: Origin, read: ModelFiles, reach: Reach) -> Inspection | None:
    """The inspection of the weights that were read, or None if there are none.

    ``reach`` inspects the base model of an adapter.
    """
    if has_parts(read):
        return inspect_parts(name, origin, read)
    checkpoint = read.checkpoint
    if checkpoint is None:
        return None
    findings = list(read.findings)
    if read.config_error is not None:
        findings.append(Finding("config", str(read.config_error), "config.json"))
    if read.config is None and OPEN_CLIP_FILE in read.files:
        text = "is the config of another library, and not read; labels are known from tensor names"
        findings.append(Finding("other-config", text, OPEN_CLIP_FILE, severity="note"))
    is_adapter = read.layout is Layout.ADAPTER
    inspection = inspect_weights(
        name,
        origin,
        checkpoint,
        # A config beside an adapter is that of the base model.
        None if is_adapter else read.config,
        read.companions,
        declared=None if is_adapter else read.declared_class,
        findings=findings,
    )
    if is_adapter:
        return with_adapter(inspection, read.companions.get("adapter_config.json"), reach)
    return replace(
        inspection,
        layout=read.layout.value,
        variants=variants_of(read.variants, checkpoint, inspection.parameters),
        contents=contents_of(checkpoint),
    )
