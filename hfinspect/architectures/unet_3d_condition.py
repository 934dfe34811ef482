"""UNet3DConditionModel: text to video by ModelScope (Wang et al. 2023).

Source of shapes: diffusers/models/unets/unet_3d_condition.py and unet_3d_blocks.py. The ladder of
unet_2d_condition.py; next to each residual block and each transformer stands one over time.
"""

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.diffusion import (
    Crossing,
    Residual,
    downsampler,
    going_down,
    going_up,
    per_block,
    resnet_row,
    timestep_embedding,
    transformer_2d,
    transformer_block,
    unet_end,
    upsampler,
    widths,
)
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Conv,
    Dropout,
    GroupNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Sequential,
)
from .unet_2d_condition import block_types

DOWN = ("CrossAttnDownBlock3D", "CrossAttnDownBlock3D", "CrossAttnDownBlock3D", "DownBlock3D")
UP = ("UpBlock3D", "CrossAttnUpBlock3D", "CrossAttnUpBlock3D", "CrossAttnUpBlock3D")


def _channels(c: ModelConfig) -> tuple[Dim, ...]:
    return widths(c, default=(320, 640, 1280, 1280))


def _residual(c: ModelConfig) -> Residual:
    groups = c.dim("norm_num_groups", default=32)
    return Residual(4 * _channels(c)[0], groups, c.number("norm_eps", default=1e-5))


def _heads(c: ModelConfig) -> tuple[Dim, ...]:
    """As in the two-dimensional one, called ``attention_head_dim``."""
    key = "num_attention_heads" if c.has("num_attention_heads") else "attention_head_dim"
    found = per_block(c, key, len(_channels(c)), 64)
    for heads in found:
        if not heads:
            raise c.error(key, int(heads), "at least 1")
    return found


def temporal_convolution(width: int, groups: int) -> Module:
    """Four convolutions over three frames: 4·(3·W² + W) and their norms."""

    def step(*before: Module) -> Module:
        return Sequential(
            GroupNorm(groups, width), Activation("SiLU"), *before, Conv(width, width, (3, 1, 1),
            dims=3),
        )  # fmt: skip

    later = step(Dropout(0.1))
    steps = {"conv1": step(), "conv2": later, "conv3": later, "conv4": later}
    return Module("TemporalConvLayer", steps, component=Component.CONV)


def temporal_transformer(
    channels: int, width: int, groups: int, *, layers: type[ModuleList] = ModuleList
) -> Module:
    """One block that looks at the frames of its place, twice. ``layers`` as in transformer_2d."""
    return Module(
        "TransformerTemporalModel",
        norm=GroupNorm(groups, channels, eps=1e-6),
        proj_in=Linear(channels, width, component=Component.ATTENTION),
        transformer_blocks=layers([transformer_block(width)]),
        proj_out=Linear(width, channels, component=Component.ATTENTION),
    )


def _rung(
    c: ModelConfig,
    kind: str,
    coming: Sequence[int],
    i: int,
    *,
    looks: int,
    samplers: dict[str, Module | None],
    layers: type[ModuleList] = ModuleList,
) -> Module:
    """Residual blocks over the widths that come in, and ``looks`` transformers."""
    width, residual, heads = _channels(c)[i], _residual(c), _heads(c)[i]
    inner = heads * (width // heads)
    context = c.dim("cross_attention_dim", default=1024)
    crossing = Crossing(True, residual.groups)
    across = transformer_2d(width, heads, 1, context, crossing, layers=layers)
    over_time = temporal_transformer(width, inner, residual.groups, layers=layers)
    convolutions = [temporal_convolution(width, residual.groups)] * len(coming)
    return Module(
        kind,
        {
            "resnets": ModuleList(resnet_row(coming, width, residual)),
            "temp_convs": ModuleList(convolutions),
            "attentions": ModuleList([across] * looks) if looks else None,
            "temp_attentions": ModuleList([over_time] * looks) if looks else None,
            **samplers,
        },
    )


def down_blocks(c: ModelConfig) -> list[Module]:
    channels, layers = _channels(c), int(c.count("layers_per_block", default=2))
    kinds = block_types(c, "down_block_types", DOWN, DOWN, len(channels))
    blocks = []
    for i, (kind, width) in enumerate(zip(kinds, channels, strict=True)):
        coming = going_down(channels, i, layers)
        looks = layers if kind.startswith("Cross") else 0
        sampler = downsampler(width) if i < len(channels) - 1 else None
        blocks.append(_rung(c, kind, coming, i, looks=looks, samplers={"downsamplers": sampler}))
    return blocks


def up_blocks(c: ModelConfig) -> list[Module]:
    channels, layers = _channels(c), int(c.count("layers_per_block", default=2)) + 1
    kinds = block_types(c, "up_block_types", UP, UP, len(channels))
    blocks = []
    for n, kind in enumerate(kinds):
        i = len(channels) - 1 - n
        coming = going_up(channels, i, layers)
        looks = layers if kind.startswith("Cross") else 0
        sampler = upsampler(channels[i]) if i else None
        blocks.append(_rung(c, kind, coming, i, looks=looks, samplers={"upsamplers": sampler}))
    return blocks


def middle(c: ModelConfig) -> Module:
    channels = _channels(c)
    coming, at = [channels[-1], channels[-1]], len(channels) - 1
    return _rung(c, "UNetMidBlock3DCrossAttn", coming, at, looks=1, samplers={}, layers=Layers)


def model(c: ModelConfig) -> Module:
    channels, residual = _channels(c), _residual(c)
    first = channels[0]
    head = c.dim("attention_head_dim", default=64)
    return Module(
        "UNet3DConditionModel",
        {
            "conv_in": Conv(c.dim("in_channels", default=4), first, 3),
            "time_proj": Activation("Timesteps"),
            "time_embedding": timestep_embedding(
                first, 4 * first, condition=c.optional_dim("time_cond_proj_dim")
            ),
            "transformer_in": temporal_transformer(first, 8 * head, residual.groups, layers=Layers),
            "down_blocks": Layers(down_blocks(c)),
            "up_blocks": Layers(up_blocks(c)),
            "mid_block": middle(c),
            **unet_end(c, first, residual),
        },
        part="vision",
    )


register((), {"UNet3DConditionModel": model}, category="diffusion", source="diffusers")
