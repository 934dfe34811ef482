"""UNet2DModel: the unconditional UNet of DDPM and its kin (Ho et al. 2020).

Source of shapes: diffusers/models/unets/unet_2d.py and unet_2d_blocks.py. The ladder of
unet_2d_condition.py without a text: on some rungs the image looks at itself.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.diffusion import (
    Residual,
    attention,
    resnet_block,
    resnet_row,
    sampled_block,
    timestep_embedding,
    unet_end,
    way_down,
    way_up,
    widths,
)
from ..layers.unet_blocks import resampling_block
from ..trees.catalog import register
from ..trees.modules import Activation, Conv, Embedding, Module, Weight

DOWN = ("DownBlock2D", "AttnDownBlock2D", "AttnDownBlock2D", "AttnDownBlock2D")
UP = ("AttnUpBlock2D", "AttnUpBlock2D", "AttnUpBlock2D", "UpBlock2D")


def _channels(c: ModelConfig) -> tuple[Dim, ...]:
    return widths(c, default=(224, 448, 672, 896))


def _residual(c: ModelConfig) -> Residual:
    shift = c.text("resnet_time_scale_shift", default="default")
    if shift not in ("default", "scale_shift"):
        raise c.error("resnet_time_scale_shift", shift, "default or scale_shift")
    return Residual(
        c.dim("time_embedding_dim", default=4 * _channels(c)[0]),
        c.dim("norm_num_groups", default=32),
        c.number("norm_eps", default=1e-5),
        shift == "scale_shift",
    )


def _look(c: ModelConfig, width: Dim, groups: int | None) -> Module:
    """Heads of ``attention_head_dim`` channels; null is one head."""
    null = "attention_head_dim" in c.values and c.values["attention_head_dim"] is None
    head = width if null else c.dim("attention_head_dim", default=8)
    return attention(width, width // head * head, bias=True, groups=groups)


def _rung(c: ModelConfig, kind: str, coming: list[Dim], i: int, *, up: bool) -> Module:
    channels, residual = _channels(c), _residual(c)
    width, last = channels[i], i == (0 if up else len(channels) - 1)
    resnets = resnet_row(coming, width, residual)
    key = "upsample_type" if up else "downsample_type"
    # A rung without attention takes a convolution whatever the key says.
    looks = kind.startswith("Attn")
    form = c.text(key, default="conv") if looks else "conv"
    attentions = [_look(c, width, residual.groups)] * len(resnets) if looks else []
    if form == "resnet":
        return resampling_block(
            kind, resnets, width, residual, attentions=attentions,
            down=not up and not last, up=up and not last,
        )  # fmt: skip
    if form != "conv":
        raise c.error(key, form, "conv or resnet")
    sampled = None if last else width
    return sampled_block(
        kind, resnets, attentions=attentions,
        down=None if up else sampled, up=sampled if up else None,
    )  # fmt: skip


def middle(c: ModelConfig) -> Module | None:
    if "mid_block_type" in c.values and c.values["mid_block_type"] is None:
        return None
    residual, width = _residual(c), _channels(c)[-1]
    resnet = resnet_block(width, width, residual)
    groups = c.optional_dim("attn_norm_num_groups")
    if groups is None and not residual.scale_shift:
        groups = c.dim("norm_num_groups", default=32)
    attentions = [_look(c, width, groups)] if c.flag("add_attention", default=True) else []
    return sampled_block("UNetMidBlock2D", [resnet, resnet], attentions=attentions)


def _time(c: ModelConfig, first: Dim) -> tuple[Module, Dim]:
    """What makes channels of the time, and how many."""
    form = c.text("time_embedding_type", default="positional")
    if form == "positional":
        return Activation("Timesteps"), first
    if form == "fourier":
        frequencies = Weight(first, component=Component.EMBEDDING)
        return Module("GaussianFourierProjection", weight=frequencies), 2 * first
    if form == "learned":
        return Embedding(c.dim("num_train_timesteps"), first, kind=None), first
    raise c.error("time_embedding_type", form, "positional, fourier or learned")


def _class(c: ModelConfig, time_inputs: Dim, time: int) -> Module | None:
    form, count = c.text("class_embed_type"), c.optional_dim("num_class_embeds")
    if form == "timestep":
        return timestep_embedding(time_inputs, time)
    if form == "identity":
        return Activation("Identity")
    return Embedding(count, time) if form is None and count is not None else None


def model(c: ModelConfig) -> Module:
    channels, residual = _channels(c), _residual(c)
    first, layers = channels[0], int(c.count("layers_per_block", default=2))
    time = residual.time or 0
    projection, time_inputs = _time(c, first)
    return Module(
        "UNet2DModel",
        {
            "conv_in": Conv(c.dim("in_channels", default=3), first, 3),
            "time_proj": projection,
            "time_embedding": timestep_embedding(time_inputs, time),
            "class_embedding": _class(c, time_inputs, time),
            "down_blocks": way_down(c, channels, DOWN, layers, partial(_rung, c, up=False)),
            "mid_block": middle(c),
            "up_blocks": way_up(c, channels, UP, layers, partial(_rung, c, up=True)),
            **unet_end(c, first, residual, outputs=3),
        },
        part="vision",
    )


register((), {"UNet2DModel": model}, category="diffusion", source="diffusers")
