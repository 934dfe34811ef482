"""AutoencoderKLQwenImage: the image and video codec of Qwen-Image (and of Wan 2.1, whose it is).

Source of shapes: diffusers/models/autoencoders/autoencoder_kl_qwenimage.py. Causal 3-D
convolutions; the way down is one flat list of blocks, the way up one of stages.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees.catalog import register
from ..trees.handed_on import MAX_STAGES
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


def _row(inputs: int, outputs: int, count: int, *between: Module) -> list[Module]:
    """``count`` residual blocks, each followed by what stands ``between``."""
    comes = [inputs, *[outputs] * (count - 1)][:count]
    made = {int(width): residual(width, outputs) for width in comes}
    return [step for width in comes for step in (made[int(width)], *between)]


def middle(width: Dim) -> Module:
    return Module(
        "QwenImageMidBlock",
        attentions=ModuleList([attention(width)]),
        resnets=ModuleList(_row(width, width, 2)),
    )


def _coder(name: str, channels: tuple[int, int, int, int], **parts: Module) -> Module:
    """A convolution from what comes in to the first width, ``parts``, and one from the last width
    to what goes out: ``channels`` are these four."""
    inputs, first, last, outputs = channels
    children = {"conv_in": _conv3d(inputs, first, 3), **parts}
    children |= {"norm_out": _norm(last, images=False), "conv_out": _conv3d(last, outputs, 3)}
    return Module(name, children, component=Component.CONV)


def _widths(c: ModelConfig) -> tuple[Dim, list[Dim]]:
    base, multiples = c.dim("base_dim", default=96), c.dims("dim_mult", default=(1, 2, 4, 4))
    if not 1 <= len(multiples) <= MAX_STAGES:
        raise c.error("dim_mult", c.raw("dim_mult"), f"1 to {MAX_STAGES} stages")
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
    layers, blocks, scale = int(c.count("num_res_blocks", default=2)), list[Module](), 1.0
    for i, outputs in enumerate(widths):
        looks = [attention(outputs)] if scale in scales else []
        blocks += _row(widths[i - 1] if i else base, outputs, layers, *looks)
        if i < len(widths) - 1:
            blocks.append(resample(outputs, up=False, time=times[i]))
            scale /= 2
    channels = (c.dim("input_channels", default=3), base, widths[-1], 2 * latent)
    mid = middle(widths[-1])
    return _coder("QwenImageEncoder3d", channels, down_blocks=Layers(blocks), mid_block=mid)


def decoder(c: ModelConfig, latent: Dim) -> Module:
    widths = _widths(c)[1][::-1]
    times = _in_time(c, len(widths))[::-1]  # of all flags, be they more than there are steps
    layers, stages = int(c.count("num_res_blocks", default=2)) + 1, []
    for i, outputs in enumerate(widths):
        # What came up was halved.
        resnets = _row(widths[i - 1] // 2 if i else widths[0], outputs, layers)
        grows = i < len(widths) - 1
        ups = ModuleList([resample(outputs, up=True, time=times[i])]) if grows else None
        stages.append(Module("QwenImageUpBlock", resnets=ModuleList(resnets), upsamplers=ups))
    channels = (latent, widths[0], widths[-1], c.dim("input_channels", default=3))
    mid = middle(widths[0])
    return _coder("QwenImageDecoder3d", channels, mid_block=mid, up_blocks=Layers(stages))


def model(c: ModelConfig) -> Module:
    latent = c.dim("z_dim", default=16)
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
