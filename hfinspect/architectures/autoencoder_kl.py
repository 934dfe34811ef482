"""AutoencoderKL: the image codec of latent diffusion (Rombach et al. 2021).

Source of shapes: diffusers/models/autoencoders/{autoencoder_kl,vae}.py. An encoder of residual
blocks to mean and variance of the latent, a decoder back; one attention in the middle of each.
Files written before diffusers 0.15 call its projections query, key, value and proj_attn.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.diffusion import (
    Residual,
    attention,
    block_types,
    going_down,
    resnet_block,
    resnet_row,
    sampled_block,
    widths,
)
from ..trees.catalog import register
from ..trees.modules import Activation, Conv, GroupNorm, Layers, Module


def _channels(c: ModelConfig) -> tuple[Dim, ...]:
    return widths(c, default=(64,))


def _residual(c: ModelConfig) -> Residual:
    return Residual(groups=c.dim("norm_num_groups", default=32), eps=1e-6)


def middle(c: ModelConfig, width: Dim) -> Module:
    residual = _residual(c)
    block = resnet_block(width, width, residual)
    look = attention(width, width, bias=True, groups=residual.groups, eps=1e-6)
    attentions = [look] if c.flag("mid_block_add_attention", default=True) else []
    return sampled_block("UNetMidBlock2D", [block, block], attentions=attentions)


def encoder(c: ModelConfig, latent: Dim) -> Module:
    channels, residual = _channels(c), _residual(c)
    layers = int(c.count("layers_per_block", default=1))
    kinds = block_types(c, "down_block_types", len(channels), ("DownEncoderBlock2D",))
    blocks = []
    for i, (kind, outputs) in enumerate(zip(kinds, channels, strict=True)):
        resnets = resnet_row(going_down(channels, i, layers), outputs, residual)
        down = outputs if i < len(channels) - 1 else None
        blocks.append(sampled_block(kind, resnets, down=down))
    return Module(
        "Encoder",
        conv_in=Conv(c.dim("in_channels", default=3), channels[0], 3),
        down_blocks=Layers(blocks),
        mid_block=middle(c, channels[-1]),
        conv_norm_out=GroupNorm(residual.groups, channels[-1], eps=1e-6),
        conv_act=Activation("SiLU"),
        conv_out=Conv(channels[-1], 2 * latent, 3),
    )


def decoder(c: ModelConfig, latent: Dim) -> Module:
    channels, residual = _channels(c)[::-1], _residual(c)
    layers = int(c.count("layers_per_block", default=1)) + 1
    kinds = block_types(c, "up_block_types", len(channels), ("UpDecoderBlock2D",))
    blocks = []
    for i, (kind, outputs) in enumerate(zip(kinds, channels, strict=True)):
        resnets = resnet_row(going_down(channels, i, layers), outputs, residual)
        up = outputs if i < len(channels) - 1 else None
        blocks.append(sampled_block(kind, resnets, up=up))
    return Module(
        "Decoder",
        conv_in=Conv(latent, channels[0], 3),
        up_blocks=Layers(blocks),
        mid_block=middle(c, channels[0]),
        conv_norm_out=GroupNorm(residual.groups, channels[-1], eps=1e-6),
        conv_act=Activation("SiLU"),
        conv_out=Conv(channels[-1], c.dim("out_channels", default=3), 3),
    )


def model(c: ModelConfig) -> Module:
    latent = c.dim("latent_channels", default=4)
    after = c.flag("use_post_quant_conv", default=True)
    return Module(
        "AutoencoderKL",
        encoder=encoder(c, latent),
        decoder=decoder(c, latent),
        quant_conv=Conv(2 * latent, 2 * latent, 1)
        if c.flag("use_quant_conv", default=True)
        else None,
        post_quant_conv=Conv(latent, latent, 1) if after else None,
        part="vision",
    )


_EARLIER = {"query": "to_q", "key": "to_k", "value": "to_v", "proj_attn": "to_out.0"}

register(
    (),
    {"AutoencoderKL": model},
    aliases={
        f"{side}.mid_block.attentions.0.{old}.": f"{side}.mid_block.attentions.0.{new}."
        for side in ("encoder", "decoder")
        for old, new in _EARLIER.items()
    },
    category="diffusion",
    source="diffusers",
)
