"""AutoencoderKLQwenImage: the image and video codec of Qwen-Image (and of Wan 2.1, whose it is).

Source of shapes: diffusers/models/autoencoders/autoencoder_kl_qwenimage.py. Causal 3-D
convolutions; the way down is one flat list of blocks, the way up one of stages.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees.catalog import register
from ..trees.handed_on import MAX_STAGES
from ..trees.modules import Activation, Conv, Layers, Module, ModuleList, Sequential, Weight, once

_conv3d = partial(Conv, dims=3, class_name="QwenImageCausalConv3d")


def _norm(width: int, *over: int) -> Module:
    """One gain per channel, shaped to stand ``over`` images or videos."""
    gamma = Weight(width, *over or (1, 1, 1))
    return Module("QwenImageRMS_norm", gamma=gamma, component=Component.NORM)


def _residual(inputs: int, outputs: int) -> Module:
    changed = int(inputs) != int(outputs)
    return Module(
        "QwenImageResidualBlock",
        norm1=_norm(inputs),
        conv1=_conv3d(inputs, outputs, 3),
        norm2=_norm(outputs),
        conv2=_conv3d(outputs, outputs, 3),
        conv_shortcut=_conv3d(inputs, outputs, 1) if changed else Activation("Identity"),
    )


def _attention(width: Dim) -> Module:
    return Module(
        "QwenImageAttentionBlock",
        norm=_norm(width, 1, 1),
        to_qkv=Conv(width, 3 * width, 1, component=Component.ATTENTION, kind="qkv"),
        proj=Conv(width, width, 1, component=Component.ATTENTION, kind="output"),
    )


def _resample(width: Dim, *, up: bool, time: bool) -> Module:
    """A 2-D convolution that halves the image, or the channels on the way up; with ``time`` one
    over frames as well."""
    spatial = Conv(width, width // 2, 3) if up else Conv(width, width, 3, stride=2)
    frames = _conv3d(width, width * 2 if up else width, (3, 1, 1))
    steps = Sequential(Activation("QwenImageUpsample" if up else "ZeroPad2d"), spatial)
    return Module("QwenImageResample", resample=steps, time_conv=frames if time else None)


def _row(inputs: int, outputs: int, count: int, *between: Module) -> list[Module]:
    """``count`` residual blocks, each followed by what stands ``between``."""
    comes = [inputs, *[outputs] * (count - 1)][:count]
    row = once(comes, lambda width: _residual(width, outputs))
    return [step for block in row for step in (block, *between)]


def _stages(c: ModelConfig) -> tuple[Dim, list[Dim], tuple[bool, ...]]:
    """The first width, those of the stages, and which of their steps go over frames as well."""
    base, multiples = c.dim("base_dim", default=96), c.dims("dim_mult", default=(1, 2, 4, 4))
    if not 1 <= len(multiples) <= MAX_STAGES:
        raise c.error("dim_mult", c.raw("dim_mult"), f"1 to {MAX_STAGES} stages")
    times = c.flags("temperal_downsample", default=(False, True, True))
    if len(times) < len(multiples) - 1:
        raise c.miscounted("temperal_downsample", len(times), f"at least {len(multiples) - 1}")
    return base, [base * multiple for multiple in multiples], times


def _coder(name: str, width: Dim, channels: tuple[int, int, int, int], **way: Module) -> Module:
    """A convolution from what comes in to the first width, the ``way`` through the stages next to a
    middle of that ``width``, and one from the last width to what goes out: ``channels`` are these
    four."""
    inputs, first, last, outputs = channels
    looks, resnets = ModuleList([_attention(width)]), ModuleList(_row(width, width, 2))
    middle = {"mid_block": Module("QwenImageMidBlock", attentions=looks, resnets=resnets)}
    parts = {**middle, **way} if "up_blocks" in way else {**way, **middle}
    return Module(
        name,
        {
            "conv_in": _conv3d(inputs, first, 3),
            **parts,
            "norm_out": _norm(last),
            "conv_out": _conv3d(last, outputs, 3),
        },
        component=Component.CONV,
    )


def _encoder(c: ModelConfig, latent: Dim) -> Module:
    base, widths, times = _stages(c)
    scales = c.raw("attn_scales") or []
    if not isinstance(scales, list):
        raise c.error("attn_scales", scales, "a list of numbers")
    layers, blocks, scale = int(c.count("num_res_blocks", default=2)), list[Module](), 1.0
    for i, outputs in enumerate(widths):
        looks = [_attention(outputs)] if scale in scales else []
        blocks += _row(widths[i - 1] if i else base, outputs, layers, *looks)
        if i < len(widths) - 1:
            blocks.append(_resample(outputs, up=False, time=times[i]))
            scale /= 2
    channels = (c.dim("input_channels", default=3), base, widths[-1], 2 * latent)
    return _coder("QwenImageEncoder3d", widths[-1], channels, down_blocks=Layers(blocks))


def _decoder(c: ModelConfig, latent: Dim) -> Module:
    _, narrowing, thinning = _stages(c)
    widths, times = narrowing[::-1], thinning[::-1]  # of all flags, be they more than the steps
    layers, stages = int(c.count("num_res_blocks", default=2)) + 1, []
    for i, outputs in enumerate(widths):
        # What came up was halved.
        resnets = _row(widths[i - 1] // 2 if i else widths[0], outputs, layers)
        grows = i < len(widths) - 1
        ups = ModuleList([_resample(outputs, up=True, time=times[i])]) if grows else None
        stages.append(Module("QwenImageUpBlock", resnets=ModuleList(resnets), upsamplers=ups))
    channels = (latent, widths[0], widths[-1], c.dim("input_channels", default=3))
    return _coder("QwenImageDecoder3d", widths[0], channels, up_blocks=Layers(stages))


def model(c: ModelConfig) -> Module:
    latent = c.dim("z_dim", default=16)
    return Module(
        "AutoencoderKLQwenImage",
        encoder=_encoder(c, latent),
        quant_conv=_conv3d(2 * latent, 2 * latent, 1),
        post_quant_conv=_conv3d(latent, latent, 1),
        decoder=_decoder(c, latent),
        component=Component.CONV,
        part="vision",
    )


register((), {"AutoencoderKLQwenImage": model}, category="diffusion", source="diffusers")
