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
    Rung,
    attention,
    middle_block,
    rungs,
    timestep_embedding,
    unet_end,
    widths,
)
from ..trees.catalog import register
from ..trees.modules import Activation, Conv, Embedding, Layers, Module, Weight

_DOWN = ("DownBlock2D", "AttnDownBlock2D", "AttnDownBlock2D", "AttnDownBlock2D")


_channels = partial(widths, default=(224, 448, 672, 896))


def _residual(c: ModelConfig) -> Residual:
    shift = c.word("resnet_time_scale_shift", "default", "scale_shift")
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


def _rung(c: ModelConfig, rung: Rung) -> Module:
    residual, looks = _residual(c), rung.kind.startswith("Attn")
    if not looks:  # which takes a convolution whatever the key says
        return rung.block(residual)
    key = "upsample_type" if rung.up else "downsample_type"
    form = c.word(key, "conv", "resnet")
    attentions = [_look(c, rung.width, residual.groups)] * len(rung.coming)
    return rung.block(residual, attentions, residual=form == "resnet")


def middle(c: ModelConfig) -> Module | None:
    if "mid_block_type" in c.values and c.values["mid_block_type"] is None:
        return None
    residual, width = _residual(c), _channels(c)[-1]
    groups = c.optional_dim("attn_norm_num_groups")
    if groups is None and not residual.scale_shift:
        groups = c.dim("norm_num_groups", default=32)
    looks = c.flag("add_attention", default=True)
    return middle_block(width, residual, [_look(c, width, groups)] if looks else [])


def _time(c: ModelConfig, first: Dim) -> tuple[Module, Dim]:
    """What makes channels of the time, and how many."""
    form = c.word("time_embedding_type", "positional", "fourier", "learned")
    if form == "positional":
        return Activation("Timesteps"), first
    if form == "fourier":
        frequencies = Weight(first, component=Component.EMBEDDING)
        return Module("GaussianFourierProjection", weight=frequencies), 2 * first
    return Embedding(c.dim("num_train_timesteps"), first, kind=None), first


def _class(c: ModelConfig, time_inputs: Dim, time: int) -> Module | None:
    form, count = c.text("class_embed_type"), c.optional_dim("num_class_embeds")
    if form == "timestep":
        return timestep_embedding(time_inputs, time)
    if form == "identity":
        return Activation("Identity")
    return Embedding(count, time) if form is None and count is not None else None


def model(c: ModelConfig) -> Module:
    channels, residual = _channels(c), _residual(c)
    first, layers = channels[0], [c.count("layers_per_block", default=2)] * len(channels)
    down, up = rungs(c, channels, layers, _DOWN), rungs(c, channels, layers, _DOWN, up=True)
    time = residual.time or 0
    projection, time_inputs = _time(c, first)
    return Module(
        "UNet2DModel",
        {
            "conv_in": Conv(c.dim("in_channels", default=3), first, 3),
            "time_proj": projection,
            "time_embedding": timestep_embedding(time_inputs, time),
            "class_embedding": _class(c, time_inputs, time),
            "down_blocks": Layers(_rung(c, rung) for rung in down),
            "mid_block": middle(c),
            "up_blocks": Layers(_rung(c, rung) for rung in up),
            **unet_end(c, first, residual, outputs=3),
        },
        part="vision",
    )


register((), {"UNet2DModel": model}, category="diffusion", source="diffusers")
