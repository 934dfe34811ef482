"""What convolutional backbones for documents and detectors share (PaddlePaddle's HGNet, LCNet).

A convolution, its batch norm, and a learned scale and offset behind the activation; and the lists
of lists that say how their stages are built.
Sources: transformers/models/{hgnet_v2,pp_lcnet,pp_lcnet_v3,pp_lcnet_v4}.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.config import MAX_COUNT, MAX_DIM
from ..trees import Component, Dim, ModelConfig, exact, named
from ..trees.modules import Activation, BatchNorm, Conv, Module, Weight
from .blocks import activation
from .vision import multiple, ratio_of

#: One block: the numbers and switches that its list has.
Entry = tuple[Dim, ...]


def affine(name: str) -> Module:
    """One scale and one offset for all channels."""
    one = Weight(1, kind="scale")
    return Module(f"{name}LearnableAffineBlock", scale=one, bias=one, component=Component.NORM)


def conv_layer(
    name: str,
    inputs: int,
    outputs: int,
    kernel: int | Sequence[int] = 3,
    *,
    groups: int = 1,
    bias: bool = False,
    act: str | None = None,
    learned: bool | None = None,
    component: Component = Component.CONV,
) -> Module:
    """Convolution, batch norm and activation; with ``learned`` (None: the family has none) a scale
    and an offset behind the activation."""
    conv = Conv(inputs, outputs, kernel, groups=groups, bias=bias, component=component)
    parts = {"convolution": conv, "normalization": BatchNorm(outputs)}
    parts["activation"] = rectifier(act) if act else Activation("Identity")
    if learned is not None:
        parts["lab"] = affine(name) if act and learned else Activation("Identity")
    return Module(f"{name}ConvLayer", {**parts}, component=component)


def rectifier(name: str | None) -> Module:
    """The activation; of all of them PReLU alone has a tensor, its slope."""
    slope = Module("PReLU", weight=Weight(1, kind="scale"), component=Component.NORM)
    return slope if name == "prelu" else activation(name)


def separable(name: str, each: Module, weighed: Module, points: Module) -> Module:
    """A convolution of each channel on its own, a weight for each, and one of all channels at a
    point."""
    parts = {"depthwise_convolution": each, "squeeze_excitation_module": weighed}
    return Module(f"{name}DepthwiseSeparableConvLayer", parts, pointwise_convolution=points)


def entry_lists(
    c: ModelConfig, key: str, default: Sequence[Sequence[object]], width: int
) -> list[Entry]:
    """A list of blocks, each a list of ``width`` sizes and switches; where a list stands in place
    of a size (a stride of rows and columns), 0 unless its numbers are the same.

    Raises ConfigError for what has another form.
    """
    value = c.raw(key)
    return _entries(c, key, default if value is None else value, width)


def block_lists(
    c: ModelConfig, key: str, default: Sequence[Sequence[Sequence[object]]], width: int
) -> list[list[Entry]]:
    """A list of stages, each of them such a list. Raises ConfigError."""
    stages = c.raw(key)
    stages = default if stages is None else stages
    if not isinstance(stages, (list, tuple)) or len(stages) > MAX_COUNT:
        raise c.error(key, stages, "a list of stages, each a list of blocks")
    return [_entries(c, f"{key}[{i}]", blocks, width) for i, blocks in enumerate(stages)]


def _entries(c: ModelConfig, key: str, blocks: object, width: int) -> list[Entry]:
    if not isinstance(blocks, (list, tuple)) or not 0 < len(blocks) <= MAX_COUNT:
        raise c.error(key, blocks, f"a list of blocks of {width} entries")
    rows = []
    for j, entries in enumerate(blocks):
        at = f"{key}[{j}]"
        if not isinstance(entries, (list, tuple)) or len(entries) != width:
            raise c.error(at, entries, f"{width} entries")
        rows.append(tuple(_entry(c, f"{at}[{k}]", entry) for k, entry in enumerate(entries)))
    return rows


def _entry(c: ModelConfig, key: str, value: object) -> Dim:
    if isinstance(value, (list, tuple)):
        numbers = {_entry(c, key, number) for number in value}
        return numbers.pop() if len(numbers) == 1 else exact(0)
    if not isinstance(value, int) or not 0 <= value <= MAX_DIM:
        raise c.error(key, value, "a size, or true or false")
    return Dim(int(value), c.path + key)


def divisible(c: ModelConfig, size: Dim) -> Dim:
    """``size`` times ``scale``, rounded to a multiple of ``divisor`` but not down by more than a
    tenth (make_divisible)."""
    scale = ratio_of(c, "scale", default=1.0)
    divisor = c.dim("divisor", default=8)
    rounded = multiple(int(size) * (int(scale) if scale.is_integer() else scale), int(divisor))
    if rounded == int(size):
        return size
    meaning = f"{scale:g} times {int(size)}, rounded to a multiple of {int(divisor)}"
    return named(rounded, f"divisible(scale * {size.expr})", meaning)
