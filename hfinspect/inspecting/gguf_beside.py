"""A GGUF file beside what its config.json, or else its own key-values, promise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..analysis.gguf.expected import Verdict, compare_names
from ..analysis.gguf.own_config import config_of
from ..core.checkpoint import Finding
from ..core.expectation import Expectation
from ..core.results import Inspection
from ..errors import ConfigError, HfinspectError, UnknownArchitectureError
from ..formats.gguf.gguf import describe
from ..trees.prediction import Prediction, predict

#: Names that a finding gives as examples.
_EXAMPLES = 3

#: What promises where there is no config.json.
OWN_VALUES = "the file's own key-values"


def with_promise(inspection: Inspection, prediction: Prediction | None, where: str) -> Inspection:
    """The inspection of a GGUF file with its expectation, and what differs as findings.

    ``prediction`` is that of the file ``where``, None where there is none or it is not in the
    catalog; then the key-values promise, if their architecture is known.
    """
    facts = describe(inspection.metadata)
    if facts.architecture is None or facts.type != "model" or not inspection.complete:
        return inspection
    source, is_catalogued = where, prediction is not None
    if prediction is None:
        prediction, source = _own_promise(inspection), OWN_VALUES
    if prediction is None:
        return inspection
    verdict = compare_names(inspection.tensors, prediction, facts.architecture)
    found = _findings(inspection, verdict, source)
    return replace(
        inspection,
        catalogued=is_catalogued,
        expectation=verdict.expectation,
        findings=(*inspection.findings, *found),
    )


def prediction_of(inspection: Inspection) -> Prediction | None:
    """The prediction for a model that was inspected: from its config, or from the key-values of a
    GGUF file; None where there is neither or the architecture is not known."""
    if inspection.config is None:
        return _own_promise(inspection) if inspection.format == "gguf" else None
    try:
        return predict(inspection.config)
    except (ConfigError, UnknownArchitectureError):
        return None


def _own_promise(inspection: Inspection) -> Prediction | None:
    config: Mapping[str, object] | None = config_of(
        inspection.metadata, {info.name for info in inspection.tensors}
    )
    if config is None:
        return None
    try:
        prediction = predict(config)
        return prediction if prediction.specs else None
    except HfinspectError:
        return None  # numbers that make no model: what the header holds is still right


def _findings(inspection: Inspection, verdict: Verdict, source: str) -> Iterator[Finding]:
    file = inspection.files[0].path if inspection.files else None
    if not verdict.expectation.agrees:
        yield Finding("config-differs", _difference(inspection, verdict.expectation, source), file)
    if verdict.unnamed:
        held, promised = verdict.rest
        same = "as many elements as" if held == promised else f"{held:,} elements, not those of"
        text = (
            f"{len(verdict.unnamed):,} tensors of {source} have no known name in GGUF "
            f"({_examples(verdict.unnamed)}); the file's remaining tensors have {same} these "
            f"({promised:,})"
        )
        severity = "note" if held == promised else "warning"
        yield Finding("gguf-names", text, file, severity=severity)
    if verdict.elsewhere:
        parts = " and ".join(verdict.elsewhere)
        text = f"the {parts} part of {source} is not compared: GGUF keeps it apart"
        yield Finding("gguf-parts", text, file, severity="note")
    for name in verdict.stored_ties:
        text = f"{name} is stored although {source} ties it; it is counted as a tensor of its own"
        yield Finding("gguf-stored-tie", text, file, name, "note")


def _difference(inspection: Inspection, expectation: Expectation, source: str) -> str:
    held = "an unknown number" if inspection.parameters is None else f"{inspection.parameters:,}"
    verb = "predict" if source == OWN_VALUES else "predicts"
    parts = [f"{source} {verb} {expectation.parameters:,} parameters, the file holds {held}"]
    if expectation.missing:
        parts.append(f"predicted, not held: {_examples(expectation.missing)}")
    if expectation.unexpected:
        parts.append(f"held, not predicted: {_examples(expectation.unexpected)}")
    sizes = [
        f"{name} ({_shape(found)}, predicted {_shape(promised)})"
        for name, (found, promised) in expectation.reshaped.items()
    ]
    if sizes:
        parts.append(f"of another size: {_examples(sizes)}")
    return "; ".join(parts)


def _examples(names: Sequence[str]) -> str:
    shown = ", ".join(name[:120] for name in names[:_EXAMPLES])
    more = len(names) - _EXAMPLES
    return f"{shown} and {more:,} more" if more > 0 else shown


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(str(size) for size in shape) or "scalar"
