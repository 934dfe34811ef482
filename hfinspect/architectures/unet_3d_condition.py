"""UNet3DConditionModel: text to video by ModelScope (Wang et al. 2023).

Source of shapes: diffusers/models/unets/unet_3d_condition.py and unet_3d_blocks.py. The ladder of
unet_2d_condition.py; next to each residual block and each transformer stands one over time.
"""

from collections.abc import Sequence
from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.diffusion import (
    Crossing,
    Residual,
    Rung,
    per_block,
    resnet_row,
    rungs,
    timestep_embedding,
    transformer_2d,
    transformer_block,
    unet_end,
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

_DOWN = ("CrossAttnDownBlock3D", "CrossAttnDownBlock3D", "CrossAttnDownBlock3D", "DownBlock3D")


_channels = partial(widths, default=(320, 640, 1280, 1280))


def of_residuals(c: ModelConfig) -> Residual:
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
        conv = Conv(width, width, (3, 1, 1), dims=3)
        return Sequential(GroupNorm(groups, width), Activation("SiLU"), *before, conv)

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


def ladder(c: ModelConfig) -> dict[str, Module]:
    """Down, up and the middle: residual blocks over the widths that come in, a convolution over
    time next to each, and on most rungs as many transformers over the image and over time."""
    channels, residual, heads = _channels(c), of_residuals(c), _heads(c)
    context, crossing = c.dim("cross_attention_dim", default=1024), Crossing(True, residual.groups)
    layers = [c.count("layers_per_block", default=2)] * len(channels)

    def blocks(
        coming: Sequence[Dim], i: int, looks: int, kind: type[ModuleList] = ModuleList
    ) -> dict[str, Module | None]:
        width, inner = channels[i], heads[i] * (channels[i] // heads[i])
        across = transformer_2d(width, heads[i], 1, context, crossing, layers=kind)
        over_time = temporal_transformer(width, inner, residual.groups, layers=kind)
        convolutions = [temporal_convolution(width, residual.groups)] * len(coming)
        return {
            "resnets": ModuleList(resnet_row(coming, width, residual)),
            "temp_convs": ModuleList(convolutions),
            "attentions": ModuleList([across] * looks) if looks else None,
            "temp_attentions": ModuleList([over_time] * looks) if looks else None,
        }

    def made(rung: Rung) -> Module:
        looks = len(rung.coming) if rung.kind.startswith("Cross") else 0
        return Module(rung.kind, {**blocks(rung.coming, rung.i, looks), **rung.sampler()})

    middle = blocks([channels[-1]] * 2, len(channels) - 1, 1, Layers)
    return {
        "down_blocks": Layers(map(made, rungs(c, channels, layers, _DOWN))),
        "up_blocks": Layers(map(made, rungs(c, channels, layers, _DOWN, up=True))),
        "mid_block": Module("UNetMidBlock3DCrossAttn", middle),
    }


def model(c: ModelConfig) -> Module:
    channels, residual = _channels(c), of_residuals(c)
    first = channels[0]
    inner = 8 * c.dim("attention_head_dim", default=64)
    time = timestep_embedding(first, 4 * first, condition=c.optional_dim("time_cond_proj_dim"))
    return Module(
        "UNet3DConditionModel",
        {
            "conv_in": Conv(c.dim("in_channels", default=4), first, 3),
            "time_proj": Activation("Timesteps"),
            "time_embedding": time,
            "transformer_in": temporal_transformer(first, inner, residual.groups, layers=Layers),
            **ladder(c),
            **unet_end(c, first, residual),
        },
        part="vision",
    )


register((), {"UNet3DConditionModel": model}, category="diffusion", source="diffusers")
