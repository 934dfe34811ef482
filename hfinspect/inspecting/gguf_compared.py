"""A GGUF file next to what its config.json, or else its own key-values, predict."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..analysis.gguf.expected import GgufComparison, compare_names
from ..analysis.gguf.own_config import config_of
from ..core.checkpoint import Finding
from ..core.choices import Severity
from ..core.expectation import Expectation
from ..core.tensor import TensorInfo
from ..core.text import shape_text
from ..errors import HfinspectError
from ..formats.gguf.file_kinds import MODEL, in_words
from ..formats.gguf.gguf import describe
from ..trees.prediction import Prediction, predict
from .differing import Expected

#: Names that a finding gives as examples.
_EXAMPLES = 3

#: What the prediction is made from where there is no config.json.
OWN_VALUES = "the file's own key-values"


class HeldTensors(NamedTuple):
    """What a GGUF file holds: its first shard's path and key-values, its tensors, the unique
    parameters in them (None where a packing is unknown)."""

    file: str | None
    metadata: Mapping[str, object]
    tensors: Sequence[TensorInfo]
    parameters: int | None


def expected_of(file_tensors: HeldTensors, prediction: Prediction | None, where: str) -> Expected:
    """``prediction`` is that of the file ``where``, None where there is none or it is not in the
    catalog; then the key-values predict, if their architecture is known."""
    facts = describe(file_tensors.metadata)
    if facts.type != MODEL:
        return Expected(findings=_kind_findings(file_tensors, facts.type))
    if facts.architecture is None:
        return Expected()
    source = where
    is_catalogued = prediction is not None
    if prediction is None:
        prediction = own_prediction(file_tensors)
        source = OWN_VALUES
    if prediction is None:
        return Expected()
    comparison = compare_names(file_tensors.tensors, prediction, facts.architecture)
    findings = tuple(_findings(file_tensors, comparison, source))
    return Expected(is_catalogued, comparison.expectation, findings, prediction)


def own_prediction(file_tensors: HeldTensors) -> Prediction | None:
    """What the key-values predict; None where their architecture is not known."""
    config: Mapping[str, object] | None = config_of(
        file_tensors.metadata, {info.name for info in file_tensors.tensors}
    )
    if config is None:
        return None
    try:
        prediction = predict(config)
        return prediction if prediction.specs else None
    except HfinspectError:
        return None  # numbers that make no model: what the header holds is still right


def _kind_findings(of: HeldTensors, kind: str) -> tuple[Finding, ...]:
    """What a file that is no model is; of an mmproj file its keys say more."""
    if kind == "mmproj":
        return ()
    return (
        Finding("gguf-kind", f"no model: the file is {in_words(kind)}", of.file, severity="note"),
    )


def _findings(of: HeldTensors, comparison: GgufComparison, source: str) -> Iterator[Finding]:
    file = of.file
    if not comparison.expectation.agrees:
        yield Finding("config-differs", _difference(of, comparison.expectation, source), file)
    if comparison.unnamed:
        stored, predicted = comparison.rest
        same = (
            "as many elements as" if stored == predicted else f"{stored:,} elements, not those of"
        )
        text = (
            f"{len(comparison.unnamed):,} tensors of {source} have no known name in GGUF "
            f"({_examples(comparison.unnamed)}); the file's remaining tensors have {same} these "
            f"({predicted:,})"
        )
        severity: Severity = "note" if stored == predicted else "warning"
        yield Finding("gguf-names", text, file, severity=severity)
    if comparison.elsewhere:
        parts = " and ".join(comparison.elsewhere)
        text = f"the {parts} part of {source} is not compared: GGUF keeps it apart"
        yield Finding("gguf-parts", text, file, severity="note")
    for name in comparison.stored_ties:
        text = f"{name} is stored although {source} ties it; it is counted as a tensor of its own"
        yield Finding("gguf-stored-tie", text, file, name, "note")


def _difference(of: HeldTensors, expectation: Expectation, source: str) -> str:
    count = "an unknown number" if of.parameters is None else f"{of.parameters:,}"
    verb = "predict" if source == OWN_VALUES else "predicts"
    parts = [f"{source} {verb} {expectation.parameters:,} parameters, the file holds {count}"]
    if expectation.missing:
        parts.append(f"predicted, not held: {_examples(expectation.missing)}")
    if expectation.unexpected:
        parts.append(f"held, not predicted: {_examples(expectation.unexpected)}")
    sizes = [
        f"{name} ({shape_text(in_file)}, predicted {shape_text(predicted)})"
        for name, (in_file, predicted) in expectation.reshaped.items()
    ]
    if sizes:
        parts.append(f"of another size: {_examples(sizes)}")
    return "; ".join(parts)


def _examples(names: Sequence[str]) -> str:
    shown = ", ".join(name[:120] for name in names[:_EXAMPLES])
    more = len(names) - _EXAMPLES
    return f"{shown} and {more:,} more" if more > 0 else shown
