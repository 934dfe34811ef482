"""What a folder's config predicts, as the class that the repo says the folder is."""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from ..core.config import ModelConfig
from ..errors import UnknownArchitectureError
from ..layers.sentence_modules import (
    FAMILY,
    ROUTERS,
    SIZED_BY_TOKENIZER,
    TRANSFORMERS,
    WEIGHTLESS,
    own_class,
)
from ..trees.prediction import Prediction, config_dtype, predict

#: Components of a pipeline that hold no weights, by the end of their class's name.
NO_MODEL = re.compile(r".*(?:Scheduler|Tokenizer(?:Fast)?|Processor(?:Fast)?|FeatureExtractor)")
#: Keys by which a config says what model it is.
NAMES_A_MODEL = ("model_type", "architectures", "_class_name")


def is_model(declared: str | None, config: Mapping[str, Any] | None) -> bool:
    """Whether a folder of this class has weights that its config can say something about.

    A class that is not known is one if its config names a model.
    """
    name = own_class(declared)
    if name in FAMILY.classes or name in SIZED_BY_TOKENIZER:
        return True
    if name in WEIGHTLESS or name in ROUTERS:
        return False
    if declared is None or name in TRANSFORMERS:
        return True
    if NO_MODEL.fullmatch(declared):
        return False
    return any(key in (config or {}) for key in NAMES_A_MODEL)


#: A config, and what the catalog predicts from it.
Predicted = tuple[Mapping[str, Any], Prediction]


def predict_as(
    declared: str | None, config: Mapping[str, Any], predicted: Predicted | None = None
) -> Prediction | None:
    """The tensors of a folder that the repo says to be of class ``declared`` (None: it says
    nothing, so that the config alone counts); None where it has none that a config gives.

    ``predicted`` is a prediction made before, taken where it is of the same config. Raises what
    ``predict`` raises.
    """
    name = own_class(declared)
    if name in SIZED_BY_TOKENIZER or not is_model(declared, config):
        return None
    if name is None or name not in FAMILY.classes:
        return (
            predicted[1] if predicted is not None and predicted[0] == config else _predicted(config)
        )
    values = ModelConfig(config)
    return Prediction(
        model_type=None,
        architecture=name,
        root=FAMILY.classes[name](values),
        family=FAMILY,
        dtype=config_dtype(values),
        because=f"the class is {declared}",
    )


#: Predictions that are kept: of a scan many models have the same config.
_KEPT: Final = 32
#: Characters of a config that is worth it.
_LONGEST: Final = 100_000


def _predicted(config: Mapping[str, Any]) -> Prediction:
    """As ``predict``, and once of equal configs."""
    try:
        text = json.dumps(config)
        is_plain = len(text) <= _LONGEST and json.loads(text) == config
    except (TypeError, ValueError, RecursionError):  # objects of Python, in a config of a program
        is_plain = False
    return _predicted_once(text) if is_plain else predict(config)


@lru_cache(_KEPT)
def _predicted_once(text: str) -> Prediction:
    return predict(json.loads(text))


def sized_elsewhere(declared: str) -> UnknownArchitectureError:
    """The error for a class whose size no config gives."""
    return UnknownArchitectureError(
        declared.rpartition(".")[2],
        "has the size of its tokenizer, which the config does not give",
        hint="read the headers of its weights instead",
    )
