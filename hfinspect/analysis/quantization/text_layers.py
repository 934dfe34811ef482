"""Which models the tools take that pack layer by layer: AutoGPTQ, GPTQModel and AutoAWQ.

Sources: their lists of model definitions, each with the one list of layers of its decoder;
optimum/gptq (``BLOCK_PATTERNS``).
"""

from collections.abc import Iterator

from ...trees.modules import Layers, Module
from ...trees.prediction import Prediction
from .packed_layout import UndeterminedError

#: Model types that call the layers of their decoder those of an encoder.
_DECODERS = frozenset({"chatglm"})


def check_decoder(prediction: Prediction) -> None:
    """Raise UndeterminedError where the tools have no list of layers to go through, or several:
    they pack decoders."""
    lists = list(_text_layers(prediction.root, "", "text"))
    if not lists:
        raise UndeterminedError(
            "its tools pack only the layers of a language model, and this model has none"
        )
    of_encoder = prediction.model_type not in _DECODERS and any("encoder" in n for n in lists)
    if of_encoder or (lists == ["model.decoder.layers"] and "audio" in _parts(prediction)):
        raise UndeterminedError("its tools pack decoders alone, and this model has an encoder")
    if len(lists) > 1:
        raise UndeterminedError(f"its tools pack one list of layers, and there are {len(lists)}")


def _text_layers(module: Module, name: str, part: str) -> Iterator[str]:
    """The names of the lists of layers of the language model."""
    part = module.part or part
    for key, child in module.children.items():
        if not isinstance(child, Module) or not child.saved:
            continue
        full = f"{name}.{key}" if name else key
        if not (isinstance(child, Layers) and child.is_layers):
            yield from _text_layers(child, full, part)
        elif (child.part or part) == "text":
            yield full


def _parts(prediction: Prediction) -> set[str]:
    return {spec.part for spec, _ in prediction.tensors.counted()}
