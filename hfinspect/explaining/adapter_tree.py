"""The modules of a low-rank adapter, with matrices that know its rank.

LoRA (Hu et al., 2021) adds ``B·A`` to a weight: ``A`` has ``r`` rows, ``B`` has ``r`` columns.
adapter_config.json names ``r``; the other sides are those of the base model's modules and stand in
the adapter's headers as numbers. What the adapter keeps whole has plain numbers throughout, as have
modules with a rank of their own (``rank_pattern``).
"""

from ..core.dims import Dim
from ..core.results import Inspection
from ..core.tensor import TensorInfo
from ..trees.prediction import Prediction
from .derivation import Derivation
from .header_tree import tree_of_headers
from .low_rank import FIRST, SECOND

#: The key of adapter_config.json.
_RANK = "r"


def adapter_derivation(inspection: Inspection) -> Derivation | None:
    """The derivation of an adapter from its headers and its rank.

    None for any other model, and where not every tensor could be read and counted.
    """
    adapter = inspection.adapter
    countable = inspection.holds_all_files and inspection.parameters is not None
    if adapter is None or not countable or not inspection.tensors:
        return None
    root = tree_of_headers(
        "Adapter",
        inspection,
        shape=lambda tensor: _shape(tensor, adapter.rank),
        kind=lambda tensor: tensor.kind,
    )
    config = {} if adapter.rank is None else {_RANK: adapter.rank}
    return Derivation(Prediction(None, adapter.type or "adapter", root), config, of_headers=True)


def _shape(tensor: TensorInfo, rank: int | None) -> tuple[int, ...]:
    """The tensor's sides; the rank knows its key."""
    if tensor.parameters != tensor.elements or len(tensor.shape) < 2:
        return (tensor.parameters or 0,) if tensor.parameters != tensor.elements else tensor.shape
    axis = 0 if FIRST.search(tensor.name) else 1 if SECOND.search(tensor.name) else None
    if axis is None or rank is None or tensor.shape[axis] != rank:
        return tensor.shape
    sides = list(tensor.shape)
    sides[axis] = Dim(rank, _RANK)
    return tuple(sides)
