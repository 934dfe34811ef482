"""The names under which tensors of two checkpoints are the same one.

Files spell names differently: with the base model's prefix or without it (``transformer.h.0``,
``h.0``), in a family's older spelling, or with a packed weight under a name of its own
(``q_proj.qweight``). Where the catalog knows the architecture, it tells; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..core.components import Role
from ..core.results import Inspection
from ..core.tensors import TensorInfo
from ..errors import HfinspectError
from ..trees.prediction import Prediction, predict
from .labels.lookup import spec_finder

#: Ends of packed weights' names, and of the names of the weights that they stand for
#: (GPTQ and AWQ, compressed-tensors, HQQ and AQLM, MXFP4).
_PACKED: Final = (
    (".qweight", ".weight"),
    (".weight_packed", ".weight"),
    (".W_q", ".weight"),
    (".codes", ".weight"),
    ("_blocks", ""),
)


def by_common_name(inspection: Inspection) -> dict[str, TensorInfo]:
    """Tensors by common name. Which end of a tie a file keeps is the writer's choice and no
    difference of the models, so tied ones are left out."""
    prediction = _prediction(inspection)
    find = spec_finder(prediction)
    family = prediction.family if prediction else None
    prefix = f"{family.base_prefix}." if family and family.base_prefix else ""
    named: dict[str, TensorInfo] = {}
    for tensor in inspection.tensors:
        if tensor.tied_to is not None:
            continue
        name = tensor.name
        for candidate in _candidates(tensor):
            spec = find(candidate)
            name = candidate if spec is None else spec.name.removeprefix(prefix)
            if spec is not None:
                break
        named[tensor.name if name in named else name] = tensor
    return named


def _candidates(tensor: TensorInfo) -> Iterator[str]:
    """The tensor's name, and before it that of the weight which it is packed from."""
    if tensor.role is Role.PARAMETER and tensor.parameters != tensor.elements:
        for end, plain in _PACKED:
            if tensor.name.endswith(end):
                yield tensor.name.removesuffix(end) + plain
                return
    yield tensor.name


def _prediction(inspection: Inspection) -> Prediction | None:
    if inspection.config is None:
        return None
    try:
        return predict(inspection.config)
    except HfinspectError:
        return None
