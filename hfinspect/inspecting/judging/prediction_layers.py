"""Layers of multi-token prediction that a config declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...analysis.extra_tensors import is_further_token
from ...core.lazy_sequence import counted
from ...core.wholeness import Problem
from .evidence import Evidence

#: What configs call the number of such layers.
_KEYS: Final = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers", "mtp_layers")
#: Words in names of tensors and files that hold such layers.
_WORDS: Final = ("mtp", "nextn", "eh_proj", "enorm", "hnorm")
_SECTIONS: Final = ("text_config", "llm_config", "language_config")


def missing_prediction_layers(evidence: Evidence) -> Iterator[Problem]:
    """A declared number of them, of which no file holds one: speculation is not possible."""
    if evidence.checkpoint.missing:
        return
    declared = _declared(evidence.config)
    if declared is None or evidence.layout != "model" or _has_them(evidence):
        return
    key, number = declared
    layers = "layer is" if number == 1 else "layers are"
    text = f"{key} is {number:,} and no such {layers} in the files: no speculation"
    yield Problem(
        "missing_prediction_layer", text, number, key, file=evidence.where, severity="warning"
    )


def _declared(config: Mapping[str, Any] | None) -> tuple[str, int] | None:
    for section in ("", *_SECTIONS):
        values = config if not section else (config or {}).get(section)
        if not isinstance(values, Mapping):
            continue
        for key in _KEYS:
            number = values.get(key)
            if type(number) is int and number > 0:
                return (f"{section}.{key}" if section else key), number
    return None


def _has_them(evidence: Evidence) -> bool:
    others = (*evidence.checkpoint.others, *evidence.files)
    if any("mtp" in path.lower() for path in others):
        return True  # a file of their own
    kinds = [info for info, _ in counted(evidence.tensors)]
    if any(info.extra_kind == "mtp" for info in kinds):
        return True
    prediction = evidence.prediction
    known = prediction is not None and any(is_further_token(spec) for spec in prediction.extras)
    if known or evidence.expectation is None:
        return any(_is_such(info.name) for info in kinds)
    # A class whose tree has no such layers: they would be tensors that it does not know.
    return bool(evidence.expectation.unexpected)


def _is_such(name: str) -> bool:
    lowered = name.lower()
    return any(word in lowered for word in _WORDS)
