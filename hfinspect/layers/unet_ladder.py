"""The ladder of a UNet2DConditionModel: residual blocks and transformers down, a middle, and up.

On most rungs ``attention_head_dim`` means the number of heads, on those of unet_blocks.py their
width. Source: diffusers/models/unets/{unet_2d_condition,unet_2d_blocks}.py and ControlNet's.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

from ..core.config import MAX_COUNT
from ..trees import Component, Conv, Dim, Layers, ModelConfig, Module, ModuleList
from ..trees.modules import once
from . import diffusion
from .unet_blocks import added_attention, k_block
from .unet_conditions import stem, time_width

_DOWN = ("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D")
_MIDDLE, _SIMPLE, _BARE = (f"UNetMidBlock2D{end}" for end in ("CrossAttn", "SimpleCrossAttn", ""))
_DEPTH = "transformer_layers_per_block"
#: Every rung down that this catalog builds; those up are called alike.
_TYPES = tuple(
    """CrossAttnDownBlock2D DownBlock2D ResnetDownsampleBlock2D SimpleCrossAttnDownBlock2D
    KDownBlock2D KCrossAttnDownBlock2D""".split()
)


def depths(c: ModelConfig, key: str, count: int, *, up: bool = False) -> tuple[Any, ...]:
    """How many transformer blocks stand next to each residual block: per rung, or a list of it."""
    turned = f"reverse_{key}"
    if up:
        return depths(c, turned, count) if c.has(turned) else depths(c, key, count)[::-1]
    value = c.raw(key)
    if not isinstance(value, list):
        return (c.count(key, default=1),) * count
    if len(value) != count:
        raise c.error(key, value, f"{count} entries, one per block")
    each = ModelConfig({f"{key}[{i}]": item for i, item in enumerate(value)}, c.path)
    return tuple(
        each.dims(at, minimum=0, maximum=MAX_COUNT) if isinstance(item, list) else each.count(at)
        for at, item in each.file_values.items()
    )


class Ladder:
    """The config's lists, one entry per rung, top to bottom. Raises ConfigError."""

    def __init__(self, c: ModelConfig) -> None:
        if c.has(heads := "num_attention_heads"):
            raise c.error(heads, c.raw(heads), "null, as diffusers does")
        if c.flag(dual := "dual_cross_attention", default=False):
            raise c.error(dual, True, "false: two contexts at once are not known here")
        self.c = c
        self.channels = diffusion.widths(c, default=(320, 640, 1280, 1280))
        count = len(self.channels)
        groups = c.dim("norm_num_groups", default=32)
        gated = c.word("attention_type", "default", "gated", "gated-text-image") != "default"
        norm = "cross_attention_norm"
        time = time_width(c, self.channels[0])
        self.time = 2 * time if c.flag("class_embeddings_concat", default=False) else time
        self.layers = diffusion.per_block(c, "layers_per_block", count, 2, maximum=MAX_COUNT)
        self.heads = diffusion.per_block(c, "attention_head_dim", count, 8)
        self.context = diffusion.per_block(c, "cross_attention_dim", count, 1280)
        self.depths = depths(c, _DEPTH, count)
        listed = isinstance(c.raw(cross := "only_cross_attention"), (list, tuple))
        alone = c.flags(cross, count=count) if listed else (c.flag(cross, default=False),) * count
        self.only_cross = alone
        self.residual = diffusion.timed(c, self.time)
        linear = c.flag("use_linear_projection", default=False)
        look = diffusion.transformer_2d
        self.transformer = partial(look, linear=linear, groups=groups, gated=gated)
        self.text_norm = c.word(norm, "layer_norm", "group_norm") if c.has(norm) else None

    def _heads(self, i: int) -> Dim:
        if not self.heads[i]:
            raise self.c.error("attention_head_dim", 0, "at least 1")
        return self.heads[i]

    def attentions(self, i: int, layers: int, depth: Any, *, middle: bool = False) -> list[Module]:
        """A transformer for each of the ``layers`` of rung ``i``, ``depth`` blocks deep or each as
        deep as the list says; that of the ``middle`` looks at the image first in any case."""
        deep = list(depth) if isinstance(depth, tuple) else [depth] * layers
        if len(deep) != layers:
            raise self.c.error(_DEPTH, deep, f"{layers} entries, one per layer")
        alone = self.only_cross[i] and not middle
        kind = Layers if middle else ModuleList
        sizes = (self.channels[i], self._heads(i))
        look = partial(self.transformer, layers=kind)
        return once(deep, lambda n: look(*sizes, n, self.context[i], only_cross=alone))

    def _added(self, i: int, head_of: int, *, alone: bool) -> Module:
        """Attention of DeepFloyd IF and Kandinsky: heads have ``attention_head_dim`` channels."""
        sizes = self.channels[i], self._heads(head_of), self.residual.groups, self.context[i]
        return added_attention(*sizes, self.text_norm, alone=alone)

    def _rung(self, rung: diffusion.Rung, depth: Any) -> Module:
        """Heads of unet_blocks.py are read on the way up from the list's other end, as there."""
        i = rung.i
        layers = len(rung.coming)
        kind = rung.kind
        head_of = len(self.channels) - 1 - i if rung.up else i
        if kind.startswith("K"):
            above = self.channels[max(i - 1, 0)]
            looks = "CrossAttn" in kind
            head = self._heads(head_of) if looks else None
            return k_block(rung, above, self.time, head, self.context[i])
        if kind.startswith("CrossAttn"):
            return rung.block(self.residual, self.attentions(i, layers, depth))
        if kind.startswith("Simple"):
            added = self._added(i, head_of, alone=self.only_cross[i])
            return rung.block(self.residual, [added] * layers, residual=True)
        return rung.block(self.residual, residual=kind.startswith("Resnet"))

    def way(self, *, up: bool = False) -> list[Module]:
        """The rungs down, or ``up`` again."""
        rungs = diffusion.rungs(self.c, self.channels, self.layers, _DOWN, _TYPES, up=up)
        deep = depths(self.c, _DEPTH, len(self.channels), up=up)
        return [self._rung(rung, depth) for rung, depth in zip(rungs, deep, strict=True)]

    def middle(self) -> Module | None:
        """What stands between them; null is a value of its own here: nothing."""
        c = self.c
        at = len(self.channels) - 1
        key = "mid_block_only_cross_attention"
        if c.says("mid_block_type") and not c.has("mid_block_type"):
            return None
        kind = c.word("mid_block_type", _MIDDLE, _SIMPLE, _BARE)
        looks = list[Module]()
        if kind == _SIMPLE:  # null takes the one switch for all blocks, if it is one
            one = c.raw("only_cross_attention") is True
            alone = c.flag(key, default=False) if c.has(key) else one
            looks = [self._added(at, at, alone=alone)]
        elif kind == _MIDDLE:
            looks = self.attentions(at, 1, self.depths[-1], middle=True)
        make_block = diffusion.middle_block
        resnets = 1 if kind == _BARE else 2
        return make_block(self.channels[-1], self.residual, looks, kind=kind, resnets=resnets)


def condition_encoder(c: ModelConfig, width: Dim, inputs: Dim | None = None) -> Module:
    """Convolutions from the condition image to the width of the first block."""
    key = "conditioning_embedding_out_channels"
    channels = c.dims(key, default=(16, 32, 96, 256), least=1)
    blocks = list[Module]()
    for inner, outer in pairwise(channels):
        blocks += [Conv(inner, inner, 3), Conv(inner, outer, 3, stride=2)]
    image = inputs or c.dim("conditioning_channels", default=3)
    out = Conv(channels[-1], width, 3)
    parts = {"conv_in": Conv(image, channels[0], 3), "blocks": ModuleList(blocks), "conv_out": out}
    return Module("ControlNetConditioningEmbedding", parts)


def control_net(
    name: str, ladder: Ladder, condition: Module, down: Layers, middle: Module | None
) -> Module:
    """The stem, the way ``down`` and the ``middle`` of a UNet that is given the ``condition``, and
    for the output of each of them a 1x1 convolution."""
    widths = [ladder.channels[0]]
    to = Component.PROJECTOR
    for width, layers in zip(ladder.channels, ladder.layers, strict=True):
        widths += [width] * (int(layers) + 1)
    convs = [Conv(width, width, 1) for width in widths[:-1]]  # the last keeps the resolution
    parts: dict[str, Module | None] = {
        **stem(ladder.c, ladder.channels[0]),
        "controlnet_cond_embedding": condition,
        "down_blocks": down,
        "controlnet_down_blocks": ModuleList(convs, component=to),
        "controlnet_mid_block": Conv(widths[-1], widths[-1], 1, component=to),
        "mid_block": middle,
    }
    return Module(name, parts, part="vision")
