"""Which models the tools take that pack layer by layer: AutoGPTQ, GPTQModel and AutoAWQ.

Sources: their lists of model definitions, each with the one list of layers of its decoder;
optimum/gptq (``BLOCK_PATTERNS``).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...trees.modules import Layers, Module
from ...trees.prediction import Prediction
from .pieces import UndeterminedError

#: Model types that call the layers of their decoder those of an encoder.
_DECODERS = frozenset({"chatglm"})


def check_decoder(prediction: Prediction) -> None:
    """Raise UndeterminedError where the tools have no layers to go through: they pack decoders."""
    lists = list(_text_layers(prediction.root, ""))
    if not lists:
        raise UndeterminedError("its tools pack the layers of a language model, and there are none")
    of_encoder = prediction.model_type not in _DECODERS and any("encoder" in n for n in lists)
    if of_encoder or (lists == ["model.decoder.layers"] and "audio" in _parts(prediction)):
        raise UndeterminedError("its tools pack decoders alone, and this model has an encoder")


def _text_layers(module: Module, name: str) -> Iterator[str]:
    """The names of the lists of layers of the language model."""
    for key, child in module.children.items():
        if not isinstance(child, Module) or (child.part or "text") != "text" or not child.saved:
            continue
        full = f"{name}.{key}" if name else key
        if isinstance(child, Layers) and child.is_layers:
            yield full
        else:
            yield from _text_layers(child, full)


def _parts(prediction: Prediction) -> set[str]:
    return {spec.part for spec, _ in prediction.tensors.counted()}
