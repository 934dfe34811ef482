"""UNet2DConditionModel: Stable Diffusion 1, 2 and XL (Rombach et al. 2021, Podell et al. 2023).

Source of shapes: diffusers/models/unets/unet_2d_condition.py and unet_2d_blocks.py. A ladder of
residual blocks down, a middle, and up again with the way down's outputs concatenated; on most rungs
transformers look at the text. ``attention_head_dim`` means the number of heads, as the source says,
but on the rungs of unet_blocks.py.
"""

from typing import Any

from ..core.config import MAX_COUNT, ModelConfig
from ..core.dims import Dim
from ..core.records import dataclass
from ..layers.diffusion import (
    Crossing,
    Residual,
    Rung,
    flags_per_block,
    middle_block,
    per_block,
    rungs,
    transformer_2d,
    unet_end,
    widths,
)
from ..layers.unet_blocks import Added, Looking, added_attention, k_block
from ..layers.unet_conditions import position_net, stem, time_width
from ..trees.catalog import register
from ..trees.modules import Layers, Module, ModuleList

_DOWN = ("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D")
_MIDDLE = "UNetMidBlock2DCrossAttn"
_SIMPLE_MIDDLE = "UNetMidBlock2DSimpleCrossAttn"
_BARE_MIDDLE = "UNetMidBlock2D"
#: Every rung down that this catalog builds; those up are called alike.
_TYPES = (
    "CrossAttnDownBlock2D", "DownBlock2D", "ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D",
    "KDownBlock2D", "KCrossAttnDownBlock2D",
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """The config's lists, one entry per block, top to bottom."""

    channels: tuple[Dim, ...]
    layers: tuple[Dim, ...]
    heads: tuple[Dim, ...]
    context: tuple[Dim, ...]
    depths: tuple[Any, ...]
    only_cross: tuple[bool, ...]
    residual: Residual
    crossing: Crossing
    text_norm: str | None = None


def plan(c: ModelConfig) -> Plan:
    """Read and check the lists. Raises ConfigError for what this catalog does not build."""
    if c.has("num_attention_heads"):
        given = c.raw("num_attention_heads")
        raise c.error("num_attention_heads", given, "null, as diffusers does")
    if c.flag("dual_cross_attention", default=False):
        expected = "false: two contexts at once are not known here"
        raise c.error("dual_cross_attention", True, expected)
    channels = widths(c, default=(320, 640, 1280, 1280))
    count, groups = len(channels), c.dim("norm_num_groups", default=32)
    shift = c.word("resnet_time_scale_shift", "default", "scale_shift") == "scale_shift"
    gated = c.word("attention_type", "default", "gated", "gated-text-image") != "default"
    normed, time = c.has("cross_attention_norm"), time_width(c, channels[0])
    if c.flag("class_embeddings_concat", default=False):
        time = 2 * time
    return Plan(
        channels,
        per_block(c, "layers_per_block", count, 2, maximum=MAX_COUNT),
        per_block(c, "attention_head_dim", count, 8),
        per_block(c, "cross_attention_dim", count, 1280),
        depths(c, "transformer_layers_per_block", count),
        flags_per_block(c, "only_cross_attention", count),
        Residual(time, groups, c.number("norm_eps", default=1e-5), shift),
        Crossing(c.flag("use_linear_projection", default=False), groups, gated),
        c.word("cross_attention_norm", "layer_norm", "group_norm") if normed else None,
    )


def depths(c: ModelConfig, key: str, count: int) -> tuple[Any, ...]:
    """How many transformer blocks stand next to each residual block: per rung, or a list of it."""
    value = c.raw(key)
    if not isinstance(value, list):
        return (c.count(key, default=1),) * count
    if len(value) != count:
        raise c.error(key, value, f"{count} entries, one per block")
    each = ModelConfig({f"{key}[{i}]": item for i, item in enumerate(value)}, c.path)
    return tuple(
        each.dims(f"{key}[{i}]", minimum=0, maximum=MAX_COUNT)
        if isinstance(item, list)
        else each.count(f"{key}[{i}]")
        for i, item in enumerate(value)
    )


def _heads(c: ModelConfig, p: Plan, i: int) -> Dim:
    if not p.heads[i]:
        raise c.error("attention_head_dim", int(p.heads[i]), "at least 1")
    return p.heads[i]


def attentions(
    c: ModelConfig, p: Plan, i: int, layers: int, depth: Any, *, middle: bool = False
) -> list[Module]:
    """A transformer for each of the ``layers`` of rung ``i``, ``depth`` blocks deep or each as deep
    as the list says; that of the ``middle`` looks at the image first in any case."""
    deep = list(depth) if isinstance(depth, tuple) else [depth] * layers
    if len(deep) != layers:
        raise c.error("transformer_layers_per_block", deep, f"{layers} entries, one per layer")
    heads, kind = _heads(c, p, i), Layers if middle else ModuleList
    alone = p.only_cross[i] and not middle
    made = {
        n: transformer_2d(
            p.channels[i], heads, n, p.context[i], p.crossing, only_cross=alone, layers=kind
        )
        for n in dict.fromkeys(deep)
    }
    return [made[n] for n in deep]


def _added(c: ModelConfig, p: Plan, i: int, head_of: int, *, alone: bool) -> Module:
    """Attention of DeepFloyd IF and Kandinsky, where heads have ``attention_head_dim`` channels."""
    text = Added(p.context[i], p.text_norm, alone)
    return added_attention(p.channels[i], _heads(c, p, head_of), p.residual.groups, text)


def _rung(c: ModelConfig, p: Plan, rung: Rung, depth: Any) -> Module:
    """Heads of unet_blocks.py are read on the way up from the list's other end, as the source
    does."""
    i, layers, time = rung.i, len(rung.coming), p.residual.time or 0
    head_of = len(p.channels) - 1 - i if rung.up else i
    if rung.kind.startswith("K"):
        above = p.channels[max(i - 1, 0)]
        inward = int(above) == int(rung.width) == int(time) if rung.up else rung.last
        crosses = "CrossAttn" in rung.kind
        looking = Looking(_heads(c, p, head_of), p.context[i], time, inward) if crosses else None
        return k_block(rung, above, time, looking)
    if rung.kind.startswith("CrossAttn"):
        return rung.block(p.residual, attentions(c, p, i, layers, depth))
    if rung.kind.startswith("Simple"):
        added = _added(c, p, i, head_of, alone=p.only_cross[i])
        return rung.block(p.residual, [added] * layers, residual=True)
    return rung.block(p.residual, residual=rung.kind.startswith("Resnet"))


def down_blocks(c: ModelConfig, p: Plan) -> list[Module]:
    found = rungs(c, p.channels, p.layers, _DOWN, _TYPES)
    return [_rung(c, p, rung, p.depths[rung.i]) for rung in found]


def up_blocks(c: ModelConfig, p: Plan) -> list[Module]:
    turned, count = "reverse_transformer_layers_per_block", len(p.channels)
    upward = depths(c, turned, count) if c.has(turned) else p.depths[::-1]
    found = rungs(c, p.channels, p.layers, _DOWN, _TYPES, up=True)
    return [_rung(c, p, rung, depth) for rung, depth in zip(found, upward, strict=True)]


def middle(c: ModelConfig, p: Plan) -> Module | None:
    # null is a value of its own here: no middle block.
    if "mid_block_type" in c.values and c.values["mid_block_type"] is None:
        return None
    kind = c.word("mid_block_type", _MIDDLE, _SIMPLE_MIDDLE, _BARE_MIDDLE)
    at, looks = len(p.channels) - 1, list[Module]()
    if kind == _SIMPLE_MIDDLE:
        # null takes the one switch for all blocks, if it is one.
        alone = c.raw("only_cross_attention") is True
        if c.has("mid_block_only_cross_attention"):
            alone = c.flag("mid_block_only_cross_attention", default=False)
        looks = [_added(c, p, at, at, alone=alone)]
    elif kind == _MIDDLE:
        looks = attentions(c, p, at, 1, p.depths[-1], middle=True)
    elif kind != _BARE_MIDDLE:
        raise c.error(
            "mid_block_type", kind, f"{_MIDDLE}, {_SIMPLE_MIDDLE}, {_BARE_MIDDLE} or null"
        )
    resnets = 1 if kind == _BARE_MIDDLE else 2
    return middle_block(p.channels[-1], p.residual, looks, kind=kind, resnets=resnets)


def model(c: ModelConfig) -> Module:
    p = plan(c)
    first = p.channels[0]
    kernel = int(c.dim("conv_out_kernel", default=3))
    return Module(
        "UNet2DConditionModel",
        {
            **stem(c, first),
            "down_blocks": Layers(down_blocks(c, p)),
            "up_blocks": Layers(up_blocks(c, p)),
            "mid_block": middle(c, p),
            **unet_end(c, first, p.residual, kernel=kernel),
            "position_net": position_net(c, p.context[0]),
        },
        part="vision",
    )


register((), {"UNet2DConditionModel": model}, category="diffusion", source="diffusers")
