"""One model: its weights, its config, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..analysis.quantization import decode
from ..core.checkpoint import Checkpoint, Finding
from ..core.refs import Origin
from ..core.results import Inspection
from ..errors import ConfigError, UnknownArchitectureError
from ..formats.strict_json import collector_paused
from ..trees.prediction import Prediction
from .build import from_checkpoint
from .declared_class import predict_as
from .gguf_beside import with_promise

_NONE: Mapping[str, Mapping[str, object]] = {}


def inspect_weights(
    name: str,
    origin: Origin,
    checkpoint: Checkpoint,
    config: Mapping[str, object] | None,
    companions: Mapping[str, Mapping[str, object]] = _NONE,
    *,
    declared: str | None = None,
    where: str = "config.json",
    findings: Sequence[Finding] = (),
) -> Inspection:
    """What the headers hold, beside what ``config`` (the file ``where``) promises if it is known.

    ``declared`` is the class that the repo says it is.

    An unknown architecture or a malformed config is a finding: labels then come from names.
    """
    found = list(findings)
    prediction = None
    if config is not None:
        try:
            prediction = predict_as(declared, config)
        except (ConfigError, UnknownArchitectureError) as error:
            text = f"{error}; labels are told from tensor names"
            found.append(Finding(error.kind, text, where, severity="note"))
    if checkpoint.format == "gguf":
        # llama.cpp has names of its own, which are translated to be compared.
        inspection = _inspected(name, origin, checkpoint, None, config, companions, found)
        return with_promise(inspection, prediction, where)
    return _inspected(name, origin, checkpoint, prediction, config, companions, found)


def _inspected(
    name: str,
    origin: Origin,
    checkpoint: Checkpoint,
    prediction: Prediction | None,
    config: Mapping[str, object] | None,
    companions: Mapping[str, Mapping[str, object]],
    findings: Sequence[Finding],
) -> Inspection:
    with collector_paused():
        decoding = decode(checkpoint.shards, config, companions, prediction)
        inspection = from_checkpoint(
            name, origin, checkpoint, prediction, decoding, config=config, findings=findings
        )
    return replace(inspection, findings=(*inspection.findings, *_claims(inspection, checkpoint)))


def _claims(found: Inspection, checkpoint: Checkpoint) -> list[Finding]:
    """What an index says of itself beside what was counted: compared, never believed."""
    if checkpoint.index is None or checkpoint.missing:
        return []
    counted = {
        "total_size": (found.nbytes,),
        # Written as unique parameters, with tied ones twice, or of packed tensors as stored.
        "total_parameters": (found.parameters, found.logical, found.stored),
    }
    findings = []
    for key, values in counted.items():
        claim = checkpoint.index.metadata.get(key)
        if isinstance(claim, (int, float)) and values[0] is not None and claim not in values:
            text = f"{key} is {claim:,}, counted were {values[0]:,}"
            findings.append(Finding("index-total", text, checkpoint.index.file, severity="note"))
    return findings
