"""UNet2DConditionModel: Stable Diffusion 1, 2 and XL (Rombach et al. 2021, Podell et al. 2023).

Source of shapes: diffusers/models/unets/unet_2d_condition.py and unet_2d_blocks.py. A ladder of
residual blocks down, a middle, and up again with the way down's outputs concatenated; on most rungs
transformers look at the text. ``attention_head_dim`` means the number of heads, as the source says,
but on the rungs of unet_blocks.py.
"""

from typing import Any

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..core.records import dataclass
from ..layers.diffusion import (
    Crossing,
    Residual,
    block_types,
    flags_per_block,
    going_down,
    going_up,
    per_block,
    resnet_block,
    resnet_row,
    sampled_block,
    transformer_2d,
    unet_end,
    widths,
)
from ..layers.unet_blocks import Added, Looking, added_attention, k_down, k_up, resampling_block
from ..layers.unet_conditions import position_net, stem, time_width
from ..layers.vision import bounded
from ..trees.catalog import register
from ..trees.modules import Layers, Module, ModuleList

DOWN = ("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D")
UP = ("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D")
MIDDLE = "UNetMidBlock2DCrossAttn"
SIMPLE_MIDDLE = "UNetMidBlock2DSimpleCrossAttn"
#: Every rung that this catalog builds.
DOWN_TYPES = (
    "CrossAttnDownBlock2D", "DownBlock2D", "ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D",
    "KDownBlock2D", "KCrossAttnDownBlock2D",
)  # fmt: skip
UP_TYPES = (
    "CrossAttnUpBlock2D", "UpBlock2D", "ResnetUpsampleBlock2D", "SimpleCrossAttnUpBlock2D",
    "KUpBlock2D", "KCrossAttnUpBlock2D",
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
    _refuse_unknown(c)
    channels = widths(c, default=(320, 640, 1280, 1280))
    count = len(channels)
    groups = c.dim("norm_num_groups", default=32)
    time = time_width(c, channels[0])
    if c.flag("class_embeddings_concat", default=False):
        time = 2 * time
    return Plan(
        channels,
        bounded(c, "layers_per_block", per_block(c, "layers_per_block", count, 2)),
        per_block(c, "attention_head_dim", count, 8),
        per_block(c, "cross_attention_dim", count, 1280),
        depths(c, "transformer_layers_per_block", count),
        flags_per_block(c, "only_cross_attention", count),
        Residual(
            time,
            groups,
            c.number("norm_eps", default=1e-5),
            c.text("resnet_time_scale_shift", default="default") == "scale_shift",
        ),
        Crossing(
            c.flag("use_linear_projection", default=False),
            groups,
            c.text("attention_type", default="default") != "default",
        ),
        c.text("cross_attention_norm"),
    )


def _refuse_unknown(c: ModelConfig) -> None:
    if c.has("num_attention_heads"):
        raise c.error(
            "num_attention_heads", c.raw("num_attention_heads"), "null, as diffusers does"
        )
    if c.flag("dual_cross_attention", default=False):
        raise c.error(
            "dual_cross_attention", True, "false: two contexts at once are not known here"
        )
    for key, known in (
        ("attention_type", ("default", "gated", "gated-text-image")),
        ("cross_attention_norm", (None, "layer_norm", "group_norm")),
        ("resnet_time_scale_shift", ("default", "scale_shift")),
        ("time_embedding_type", ("positional", "fourier")),
    ):
        if (value := c.text(key, default=known[0])) not in known:
            raise c.error(key, value, f"one of {', '.join(map(str, known))}")


def depths(c: ModelConfig, key: str, count: int) -> tuple[Any, ...]:
    """How many transformer blocks stand next to each residual block: per rung, or a list of it."""
    value = c.raw(key)
    if not isinstance(value, list):
        return (c.count(key, default=1),) * count
    if len(value) != count:
        raise c.error(key, value, f"{count} entries, one per block")
    rungs = ModelConfig({f"{key}[{i}]": item for i, item in enumerate(value)}, c.path)
    return tuple(
        bounded(c, key, rungs.dims(f"{key}[{i}]", minimum=0))
        if isinstance(item, list)
        else rungs.count(f"{key}[{i}]")
        for i, item in enumerate(value)
    )


def _depth(depth: Any, layers: int, c: ModelConfig) -> list[int]:
    if not isinstance(depth, tuple):
        return [depth] * layers
    if len(depth) != layers:
        raise c.error(
            "transformer_layers_per_block", list(depth), f"{layers} entries, one per layer"
        )
    return list(depth)


def _heads(c: ModelConfig, p: Plan, i: int) -> Dim:
    if not p.heads[i]:
        raise c.error("attention_head_dim", int(p.heads[i]), "at least 1")
    return p.heads[i]


def _added(c: ModelConfig, p: Plan, i: int, head_of: int, *, alone: bool) -> Module:
    """Attention of DeepFloyd IF and Kandinsky, where heads have ``attention_head_dim`` channels."""
    text = Added(p.context[i], p.text_norm, alone)
    return added_attention(p.channels[i], _heads(c, p, head_of), p.residual.groups, text)


def _looking(c: ModelConfig, p: Plan, i: int, head_of: int, *, inward: bool) -> Looking:
    return Looking(_heads(c, p, head_of), p.context[i], p.residual.time or 0, inward)


def _attentions(
    c: ModelConfig,
    p: Plan,
    i: int,
    layers: int,
    depth: Any,
    kind: type[ModuleList] = ModuleList,
) -> list[Module]:
    heads = _heads(c, p, i)
    depths_here = _depth(depth, layers, c)
    made = {
        count: transformer_2d(
            p.channels[i],
            heads,
            count,
            p.context[i],
            p.crossing,
            only_cross=p.only_cross[i],
            layers=kind,
        )
        for count in dict.fromkeys(depths_here)
    }
    return [made[count] for count in depths_here]


def down_blocks(c: ModelConfig, p: Plan) -> list[Module]:
    last = len(p.channels) - 1
    kinds = block_types(c, "down_block_types", last + 1, DOWN, DOWN_TYPES)
    return [_down_block(c, p, i, kind, last=i == last) for i, kind in enumerate(kinds)]


def _down_block(c: ModelConfig, p: Plan, i: int, kind: str, *, last: bool) -> Module:
    inputs, outputs = p.channels[max(i - 1, 0)], p.channels[i]
    layers = int(p.layers[i])
    if kind.startswith("K"):
        looking = _looking(c, p, i, i, inward=last) if "CrossAttn" in kind else None
        return k_down(kind, inputs, outputs, layers, p.residual.time or 0, looking)
    resnets = resnet_row(going_down(p.channels, i, layers), outputs, p.residual)
    if kind in ("CrossAttnDownBlock2D", "DownBlock2D"):
        crossing = kind.startswith("CrossAttn")
        attentions = _attentions(c, p, i, layers, p.depths[i]) if crossing else []
        down = None if last else outputs
        return sampled_block(kind, resnets, attentions=attentions, down=down)
    simple = kind.startswith("Simple")
    added = [_added(c, p, i, i, alone=p.only_cross[i])] * layers if simple else []
    return resampling_block(kind, resnets, outputs, p.residual, attentions=added, down=not last)


def middle(c: ModelConfig, p: Plan) -> Module | None:
    # null is a value of its own here: no middle block.
    if "mid_block_type" in c.values and c.values["mid_block_type"] is None:
        return None
    kind = c.text("mid_block_type", default=MIDDLE) or MIDDLE
    width = p.channels[-1]
    resnet = resnet_block(width, width, p.residual)
    if kind == "UNetMidBlock2D":
        return sampled_block(kind, [resnet])
    if kind == SIMPLE_MIDDLE:
        # null takes the one switch for all blocks, if it is one.
        alone = c.raw("only_cross_attention") is True
        if c.has("mid_block_only_cross_attention"):
            alone = c.flag("mid_block_only_cross_attention", default=False)
        at = len(p.channels) - 1
        added = _added(c, p, at, at, alone=alone)
        return sampled_block(kind, [resnet, resnet], attentions=[added])
    if kind != MIDDLE:
        raise c.error("mid_block_type", kind, f"{MIDDLE}, {SIMPLE_MIDDLE}, UNetMidBlock2D or null")
    inside = Plan(**{**p.__dict__, "only_cross": (False,) * len(p.channels)})
    attentions = _attentions(c, inside, len(p.channels) - 1, 1, p.depths[-1], Layers)
    return sampled_block(kind, [resnet, resnet], attentions=attentions)


def up_blocks(c: ModelConfig, p: Plan) -> list[Module]:
    count = len(p.channels)
    asymmetric = c.has("reverse_transformer_layers_per_block")
    upward = (
        depths(c, "reverse_transformer_layers_per_block", count) if asymmetric else p.depths[::-1]
    )
    kinds = block_types(c, "up_block_types", count, UP, UP_TYPES)
    return [_up_block(c, p, n, kind, upward[n]) for n, kind in enumerate(kinds)]


def _up_block(c: ModelConfig, p: Plan, n: int, kind: str, depth: Any) -> Module:
    """The n-th on the way up; heads of unet_blocks.py are read from the list's other end, as the
    source does."""
    count = len(p.channels)
    i, last = count - 1 - n, n == count - 1
    outputs, above = p.channels[i], p.channels[max(i - 1, 0)]
    layers = int(p.layers[i]) + 1
    if kind.startswith("K"):
        inward = int(above) == int(outputs) == int(p.residual.time or 0)
        looking = _looking(c, p, i, n, inward=inward) if "CrossAttn" in kind else None
        return k_up(kind, above, outputs, layers - 1, p.residual.time or 0, looking)
    resnets = resnet_row(going_up(p.channels, i, layers), outputs, p.residual)
    if kind in ("CrossAttnUpBlock2D", "UpBlock2D"):
        crossing = kind.startswith("CrossAttn")
        attentions = _attentions(c, p, i, layers, depth) if crossing else []
        return sampled_block(kind, resnets, attentions=attentions, up=None if last else outputs)
    simple = kind.startswith("Simple")
    added = [_added(c, p, i, n, alone=p.only_cross[i])] * layers if simple else []
    return resampling_block(kind, resnets, outputs, p.residual, attentions=added, up=not last)


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
