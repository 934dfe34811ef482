"""Bytes that optimizers keep, by the tensors' shapes.

Sources: ``optimizer.state`` of torch.optim after one step (tensors of more than one element), and
for ``adamw8bit`` the state that bitsandbytes makes: one byte an element and one float32 for each
block of 256, but float32 for tensors below 4,096 elements.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from ..core.records import dataclass
from ..errors import UsageError

#: Elements of a block that shares one scale, and below which a tensor stays in float32.
_BLOCK: Final = 256
_SMALLEST_8BIT: Final = 4096


@dataclass(frozen=True)
class Trained:
    """``count`` equal tensors that are trained; ``hidden``: a matrix inside the layers, neither a
    table nor the head, which Muon takes."""

    shape: tuple[int, ...]
    hidden: bool
    count: int = 1

    @property
    def elements(self) -> int:
        return math.prod(self.shape) * self.count


@dataclass(frozen=True)
class Optimizer:
    """``moments`` elements are kept for each parameter; None: the kept shapes are its own."""

    name: str
    moments: int | None
    words: str


OPTIMIZERS: Final[Mapping[str, Optimizer]] = {
    optimizer.name: optimizer
    for optimizer in (
        Optimizer("adamw", 2, "two moments"),
        Optimizer("adamw8bit", None, "two 8-bit moments, a float32 scale for each 256"),
        Optimizer("adam-amsgrad", 3, "two moments and the largest second one"),
        Optimizer("adafactor", None, "a row and a column of each matrix"),
        Optimizer("lion", 1, "one moment"),
        Optimizer("sgd", 0, "no state without momentum"),
        Optimizer("sgd-momentum", 1, "one moment"),
        Optimizer("rmsprop", 1, "one moment"),
        Optimizer("adagrad", 1, "one sum"),
        Optimizer("muon", None, "one moment of hidden matrices, AdamW's two of all else"),
    )
}


def find_optimizer(name: str) -> Optimizer:
    """The optimizer of that name. Raises UsageError."""
    optimizer = OPTIMIZERS.get(name.lower())
    if optimizer is None:
        raise UsageError(
            f"optimizer {name!r}", "is not known", expected=f"one of {', '.join(OPTIMIZERS)}"
        )
    return optimizer


def state_bytes(optimizer: Optimizer, tensors: Sequence[Trained], width: int) -> int:
    """Bytes of state for all tensors; ``width`` are the bytes of one number (that of the tensor
    that is updated: 4 with float32 masters)."""
    return sum(_of_one(optimizer, tensor, width) * tensor.count for tensor in tensors)


def _of_one(optimizer: Optimizer, tensor: Trained, width: int) -> int:
    size = math.prod(tensor.shape)
    if optimizer.moments is not None:
        return optimizer.moments * size * width
    if optimizer.name == "adafactor":
        if len(tensor.shape) < 2:
            return size * width
        # Means over the last dimension, and over the one before it.
        return (size // tensor.shape[-1] + size // tensor.shape[-2]) * width if size else 0
    if optimizer.name == "muon":
        return (1 if tensor.hidden and len(tensor.shape) == 2 else 2) * size * width
    if size < _SMALLEST_8BIT:
        return 2 * size * 4
    return 2 * (size + 4 * -(-size // _BLOCK))
