"""What a config.json promises, as a prediction and as an inspection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.checkpoint import Finding
from ..core.overrides import applied
from ..core.refs import Origin
from ..core.results import Inspection
from ..errors import HfinspectError, NothingToInspectError, UnknownArchitectureError
from ..trees.prediction import Prediction
from ..trees.prediction import predict as predict_from_catalog
from .build import from_prediction


def predict(config: Mapping[str, Any]) -> Prediction:
    """The tensors that a config.json, given as a mapping, promises.

    From the catalog; for a type that it does not know, and only if the extra
    ``hfinspect[transformers]`` is installed, from the class that transformers builds on the meta
    device (``Prediction.family`` is then None and ``because`` says so). Raises ConfigError, which
    names the key, and UnknownArchitectureError, which names the nearest known types.
    """
    try:
        return predict_from_catalog(config)
    except UnknownArchitectureError as unknown:
        from . import meta_device as fallback

        if not fallback.available():
            raise
        return fallback.build(config, unknown)


def promised(
    name: str,
    origin: Origin,
    config: Mapping[str, Any],
    overrides: Mapping[str, Any] | None,
    findings: Sequence[Finding] = (),
) -> Inspection:
    """What a config promises, some of its keys changed."""
    changed = applied(config, overrides)
    prediction = predict(changed)
    idle = _without_effect(config, overrides or {}, prediction)
    return from_prediction(name, origin, prediction, config=changed, findings=(*idle, *findings))


def _without_effect(
    config: Mapping[str, Any], overrides: Mapping[str, Any], prediction: Prediction
) -> list[Finding]:
    """The overrides that change no tensor: left out, the prediction is the same."""
    found = []
    for key in overrides:
        others = {other: value for other, value in overrides.items() if other != key}
        try:
            same = predict(applied(config, others)).specs == prediction.specs
        except HfinspectError:  # without it the config is malformed: it does change something
            same = False
        if same:
            text = f"--set {key} changes no tensor"
            found.append(Finding("override-without-effect", text, severity="note"))
    return found


def no_config(name: str) -> NothingToInspectError:
    return NothingToInspectError(
        name,
        "has no config.json",
        hint=f"hfinspect {name} reads the headers of its weights, if any",
    )
