"""AutoencoderKLQwenImage: the image and video codec of Qwen-Image (and of Wan 2.1, whose it is).

Source of shapes: diffusers/models/autoencoders/autoencoder_kl_qwenimage.py. Causal 3-D
convolutions; the way down is one flat list of blocks, the way up one of stages.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.vision import bounded
from ..trees.catalog import register
from ..trees.modules import Activation, Conv, Layers, Module, ModuleList, Sequential, Weight


def _conv3d(inputs: int, outputs: int, kernel: int | tuple[int, int, int]) -> Module:
    found = Conv(inputs, outputs, kernel, dims=3)
    found.class_name = "QwenImageCausalConv3d"
    return found


def _norm(width: int, *, images: bool) -> Module:
    """One gain per channel, shaped to stand over images (C, 1, 1) or videos (C, 1, 1, 1)."""
    shape = (width, 1, 1) if images else (width, 1, 1, 1)
    return Module("QwenImageRMS_norm", gamma=Weight(*shape), component=Component.NORM)


def residual(inputs: int, outputs: int) -> Module:
    changed = int(inputs) != int(outputs)
    return Module(
        "QwenImageResidualBlock",
        norm1=_norm(inputs, images=False),
        conv1=_conv3d(inputs, outputs, 3),
        norm2=_norm(outputs, images=False),
        conv2=_conv3d(outputs, outputs, 3),
        conv_shortcut=_conv3d(inputs, outputs, 1) if changed else Activation("Identity"),
    )


def attention(width: Dim) -> Module:
    return Module(
        "QwenImageAttentionBlock",
        norm=_norm(width, images=True),
        to_qkv=Conv(width, 3 * width, 1, component=Component.ATTENTION, kind="qkv"),
        proj=Conv(width, width, 1, component=Component.ATTENTION, kind="output"),
    )


def resample(width: Dim, *, up: bool, time: bool) -> Module:
    """A 2-D convolution that halves the image, or the channels on the way up; with ``time`` one
    over frames as well."""
    spatial = Conv(width, width // 2, 3) if up else Conv(width, width, 3, stride=2)
    frames = _conv3d(width, width * 2 if up else width, (3, 1, 1))
    before = Activation("QwenImageUpsample" if up else "ZeroPad2d")
    return Module(
        "QwenImageResample",
        resample=Sequential(before, spatial),
        time_conv=frames if time else None,
    )


def middle(width: Dim) -> Module:
    return Module(
        "QwenImageMidBlock",
        attentions=ModuleList([attention(width)]),
        resnets=ModuleList([residual(width, width)] * 2),
    )


def _widths(c: ModelConfig) -> tuple[Dim, list[Dim]]:
    base = c.dim("base_dim", default=96)
    multiples = c.dims("dim_mult", default=(1, 2, 4, 4))
    if not 1 <= len(multiples) <= 32:
        raise c.error("dim_mult", c.raw("dim_mult"), "1 to 32 stages")
    return base, [base * multiple for multiple in multiples]


def _in_time(c: ModelConfig, stages: int) -> tuple[bool, ...]:
    found = c.flags("temperal_downsample", default=(False, True, True))
    if len(found) < stages - 1:
        raise c.error("temperal_downsample", list(found), f"{stages - 1} entries")
    return found


def encoder(c: ModelConfig, latent: Dim) -> Module:
    base, widths = _widths(c)
    times = _in_time(c, len(widths))
    scales = c.raw("attn_scales") or []
    if not isinstance(scales, list):
        raise c.error("attn_scales", scales, "a list of numbers")
    layers, blocks, scale = int(c.count("num_res_blocks", default=2)), [], 1.0
    for i, outputs in enumerate(widths):
        inputs = widths[i - 1] if i else base
        looks = [attention(outputs)] if scale in scales else []
        row = [
            residual(inputs, outputs),
            *looks,
            *[residual(outputs, outputs), *looks] * (layers - 1),
        ]
        blocks += row if layers else []
        if i < len(widths) - 1:
            blocks.append(resample(outputs, up=False, time=times[i]))
            scale /= 2
    last = widths[-1]
    return Module(
        "QwenImageEncoder3d",
        conv_in=_conv3d(c.dim("input_channels", default=3), base, 3),
        down_blocks=Layers(blocks),
        mid_block=middle(last),
        norm_out=_norm(last, images=False),
        conv_out=_conv3d(last, 2 * latent, 3),
        component=Component.CONV,
    )


def decoder(c: ModelConfig, latent: Dim) -> Module:
    widths = _widths(c)[1][::-1]
    times = _in_time(c, len(widths))[::-1]  # of all flags, be they more than there are steps
    layers, stages = int(c.count("num_res_blocks", default=2)) + 1, []
    for i, outputs in enumerate(widths):
        # What came up was halved.
        inputs = widths[i - 1] // 2 if i else widths[0]
        grows = i < len(widths) - 1
        resnets = [residual(inputs, outputs), *[residual(outputs, outputs)] * (layers - 1)]
        ups = ModuleList([resample(outputs, up=True, time=times[i])]) if grows else None
        stages.append(Module("QwenImageUpBlock", resnets=ModuleList(resnets), upsamplers=ups))
    return Module(
        "QwenImageDecoder3d",
        conv_in=_conv3d(latent, widths[0], 3),
        mid_block=middle(widths[0]),
        up_blocks=Layers(stages),
        norm_out=_norm(widths[-1], images=False),
        conv_out=_conv3d(widths[-1], c.dim("input_channels", default=3), 3),
        component=Component.CONV,
    )


def model(c: ModelConfig) -> Module:
    latent = c.dim("z_dim", default=16)
    bounded(c, "num_res_blocks", (c.dim("num_res_blocks", default=2, minimum=0),))
    return Module(
        "AutoencoderKLQwenImage",
        encoder=encoder(c, latent),
        quant_conv=_conv3d(2 * latent, 2 * latent, 1),
        post_quant_conv=_conv3d(latent, latent, 1),
        decoder=decoder(c, latent),
        component=Component.CONV,
        part="vision",
    )


register((), {"AutoencoderKLQwenImage": model}, category="diffusion", source="diffusers")
