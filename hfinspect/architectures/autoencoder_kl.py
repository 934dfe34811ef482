"""AutoencoderKL: the image codec of latent diffusion (Rombach et al. 2021). Source of shapes:
diffusers/models/autoencoders/{autoencoder_kl,vae}.py."""

from ..layers.diffusion import Residual, Rung, attention, block_types, going_down, middle_block
from ..trees import Activation, Conv, GroupNorm, Layers, ModelConfig, Module, register


def _half(c: ModelConfig, inputs: int, outputs: int, *, up: bool) -> Module:
    """The encoder, or with ``up`` the decoder, with one residual block more on each rung."""
    side, name, step = ("up", "Decoder", -1) if up else ("down", "Encoder", 1)
    residual = Residual(groups=c.dim("norm_num_groups", default=32), eps=1e-6)
    channels = c.dims("block_out_channels", default=(64,), least=1)[::step]
    layers = int(c.count("layers_per_block", default=1)) + up
    last = len(channels) - 1
    kinds = block_types(c, f"{side}_block_types", last + 1, (f"{side.title()}{name}Block2D",))
    blocks = [
        Rung(kind, i, going_down(channels, i, layers), width, up, i == last).block(residual)
        for i, (kind, width) in enumerate(zip(kinds, channels, strict=True))
    ]
    middle = channels[0 if up else -1]
    look = attention(middle, middle, bias=True, groups=residual.groups, eps=1e-6)
    looks = [look] if c.flag("mid_block_add_attention", default=True) else []
    parts = {
        "conv_in": Conv(inputs, channels[0], 3),
        f"{side}_blocks": Layers(blocks),
        "mid_block": middle_block(middle, residual, looks),
        "conv_norm_out": GroupNorm(residual.groups, channels[-1], eps=1e-6),
        "conv_act": Activation("SiLU"),
        "conv_out": Conv(channels[-1], outputs, 3),
    }
    return Module(name, parts)


def model(c: ModelConfig) -> Module:
    latent = c.dim("latent_channels", default=4)
    before, after = (c.flag(f"use_{x}quant_conv", default=True) for x in ("", "post_"))
    return Module(
        "AutoencoderKL",
        encoder=_half(c, c.dim("in_channels", default=3), 2 * latent, up=False),
        decoder=_half(c, latent, c.dim("out_channels", default=3), up=True),
        quant_conv=Conv(2 * latent, 2 * latent, 1) if before else None,
        post_quant_conv=Conv(latent, latent, 1) if after else None,
        part="vision",
    )


_SIDES = [f"{side}.mid_block.attentions.0." for side in ("encoder", "decoder")]
# Names before diffusers 0.15.
_EARLIER = {"query": "to_q", "key": "to_k", "value": "to_v", "proj_attn": "to_out.0"}
_ALIASES = {f"{at}{old}.": f"{at}{new}." for at in _SIDES for old, new in _EARLIER.items()}
_CLASSES = {"AutoencoderKL": model}
register((), _CLASSES, aliases=_ALIASES, category="diffusion", source="diffusers")
