"""What a config.json predicts, as a prediction."""

from collections.abc import Collection, Mapping
from typing import Any

from ..core.results import Inspection
from ..errors import NothingToInspectError, UnknownArchitectureError
from ..trees.prediction import Prediction
from ..trees.prediction import predict as predict_from_catalog


def predict(config: Mapping[str, Any]) -> Prediction:
    """The tensors that a config.json, given as a mapping, predicts.

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


#: Where open_clip says what a model is; its sizes have names of their own.
OPEN_CLIP_FILE = "open_clip_config.json"


def no_config(
    name: str, files: Collection[str] = (), broken: str | None = None
) -> NothingToInspectError:
    """The error where there is nothing to predict from; ``broken`` is why a config.json that is
    there is of no use."""
    problem = "has no config.json"
    if broken is not None:
        problem += f" that can be used: {broken}"
    if OPEN_CLIP_FILE in files:
        problem += f", but {OPEN_CLIP_FILE}, the config of another library, which is not read"
    return NothingToInspectError(
        name, problem, hint="read the headers of its weights, if there are any"
    )


def not_derivable(inspection: Inspection) -> NothingToInspectError:
    """Why a model without a config.json has no derivation."""
    if inspection.format == "gguf" and inspection.missing_files:
        return NothingToInspectError(
            inspection.target,
            f"lacks {len(inspection.missing_files):,} of its files, so its count cannot be derived",
            where=inspection.missing_files[0],
            hint="name the folder or the repo that holds all of them",
        )
    return no_config(inspection.target, broken=_broken_config(inspection))


def _broken_config(inspection: Inspection) -> str | None:
    """Why a config.json that is there says nothing; None where there is none."""
    return next((one.text for one in inspection.findings if one.rule == "config"), None)
