"""The class that is assumed where a config names none, and what another one would count."""

from collections.abc import Mapping
from typing import Any

from ..core.checkpoint import Finding
from ..core.expectation import ASSUMED, Assumed
from ..errors import HfinspectError
from ..trees.catalog import MOST_COMMON
from ..trees.prediction import Prediction, predict

#: What models that generate or fill in text are called, where the base model is what is assumed.
_HEADS = ("ForCausalLM", "LMHeadModel", "ForMaskedLM", "ForConditionalGeneration")


def assumed_class(
    prediction: Prediction | None, config: Mapping[str, Any] | None
) -> Assumed | None:
    """None where the config names its class, or the class is not the catalog's choice."""
    if prediction is None or config is None or prediction.because != MOST_COMMON:
        return None
    other = _other_class(prediction)
    parameters = None
    if other is not None:
        try:
            parameters = predict({**config, "architectures": [other]}).parameters
        except HfinspectError:
            other = None  # this config does not describe that class
    return Assumed(prediction.architecture, prediction.because, other, parameters)


def _other_class(prediction: Prediction) -> str | None:
    """The base model; where that is what was assumed, the first class with a language model's
    head."""
    family = prediction.family
    if family is None:
        return None
    if family.base is not None and family.base != prediction.architecture:
        return family.base
    names = (name for name in family.classes if name != prediction.architecture)
    return next((name for name in names if name.endswith(_HEADS)), None)


def assumed_finding(assumed: Assumed | None, prediction: Prediction | None) -> list[Finding]:
    """The note that says so."""
    if assumed is None or prediction is None:
        return []
    return [Finding(ASSUMED, assumed.text(prediction.parameters), severity="note")]


def assumed_alone(prediction: Prediction) -> list[Finding]:
    """The note where only the prediction is there, not the config: without the other's count."""
    if prediction.because != MOST_COMMON:
        return []
    return assumed_finding(Assumed(prediction.architecture, prediction.because), prediction)
