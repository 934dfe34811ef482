"""AutoencoderKLQwenImage: the image and video codec of Qwen-Image (and of Wan 2.1, whose it is).
Source of shapes: diffusers/models/autoencoders/autoencoder_kl_qwenimage.py."""

from functools import partial

from ..trees import Component, Dim, ModelConfig, register
from ..trees.backbone_stages import MAX_STAGES
from ..trees.modules import Activation, Conv, Layers, Module, ModuleList, Sequential, Weight, once

_conv3d = partial(Conv, dims=3, class_name="QwenImageCausalConv3d")


def _norm(width: int, *over: int) -> Module:
    """One gain per channel, shaped to stand ``over`` images or videos."""
    gamma = Weight(width, *over or (1, 1, 1))
    return Module("QwenImageRMS_norm", gamma=gamma, component=Component.NORM)


def _attention(width: Dim) -> Module:
    qkv = Conv(width, 3 * width, 1, component=Component.ATTENTION, kind="qkv")
    out = Conv(width, width, 1, component=Component.ATTENTION, kind="output")
    return Module("QwenImageAttentionBlock", norm=_norm(width, 1, 1), to_qkv=qkv, proj=out)


def _row(inputs: int, outputs: int, count: int, *between: Module) -> list[Module]:
    """``count`` residual blocks, each followed by what stands ``between``."""

    def block(width: int) -> Module:
        shortcut = _conv3d(width, outputs, 1)
        same = int(width) == int(outputs)
        steps = {"norm1": _norm(width), "conv1": _conv3d(width, outputs, 3)}
        steps |= {"norm2": _norm(outputs), "conv2": _conv3d(outputs, outputs, 3)}
        around = Activation("Identity") if same else shortcut
        return Module("QwenImageResidualBlock", {**steps, "conv_shortcut": around})

    row = once([inputs, *[outputs] * (count - 1)][:count], block)
    return [step for resnet in row for step in (resnet, *between)]


def _half(c: ModelConfig, latent: Dim, *, up: bool) -> Module:
    """The encoder, whose way is a flat list of blocks, or the decoder: ``up``, a list of stages."""
    base = c.dim("base_dim", default=96)
    multiples = c.dims("dim_mult", default=(1, 2, 4, 4), least=1, most=MAX_STAGES)
    times = c.flags("temperal_downsample", default=(False, True, True))
    if len(times) < len(multiples) - 1:
        raise c.miscounted("temperal_downsample", len(times), f"at least {len(multiples) - 1}")
    widths = [base * multiple for multiple in multiples]
    if up:
        base = widths[-1]
        widths = widths[::-1]
        times = times[::-1]

    def resample(width: Dim, time: bool) -> Module:
        """Halves the image, or the channels on the way up; with ``time`` over frames as well."""
        spatial = Conv(width, width // 2, 3) if up else Conv(width, width, 3, stride=2)
        frames = _conv3d(width, width * 2 if up else width, (3, 1, 1))
        steps = Sequential(Activation("QwenImageUpsample" if up else "ZeroPad2d"), spatial)
        return Module("QwenImageResample", resample=steps, time_conv=frames if time else None)

    scales = [] if up else c.raw("attn_scales") or []
    if not isinstance(scales, list):
        raise c.error("attn_scales", scales, "a list of numbers")
    layers = int(c.count("num_res_blocks", default=2)) + up
    way = list[Module]()
    last = widths[-1]
    for i, width in enumerate(widths):
        came = widths[i - 1] if i else base
        looks = [_attention(width)] if 0.5**i in scales else []
        blocks = _row(came // 2 if up and i else came, width, layers, *looks)  # halved by the step
        step = [resample(width, times[i])] if i < len(widths) - 1 else []
        if up:
            ups = ModuleList(step) if step else None
            blocks = [Module("QwenImageUpBlock", resnets=ModuleList(blocks), upsamplers=ups)]
        way += blocks if up else [*blocks, *step]
    deep = widths[0 if up else -1]
    image = c.dim("input_channels", default=3)
    attends = ModuleList([_attention(deep)])
    resnets = ModuleList(_row(deep, deep, 2))
    middle = {"mid_block": Module("QwenImageMidBlock", attentions=attends, resnets=resnets)}
    parts = {**middle, "up_blocks": Layers(way)} if up else {"down_blocks": Layers(way), **middle}
    inputs, outputs = (latent, image) if up else (image, 2 * latent)
    parts = {"conv_in": _conv3d(inputs, base, 3), **parts}
    parts |= {"norm_out": _norm(last), "conv_out": _conv3d(last, outputs, 3)}
    return Module(f"QwenImage{'Decoder' if up else 'Encoder'}3d", {**parts})


def model(c: ModelConfig) -> Module:
    latent = c.dim("z_dim", default=16)
    return Module(
        "AutoencoderKLQwenImage",
        encoder=_half(c, latent, up=False),
        quant_conv=_conv3d(2 * latent, 2 * latent, 1),
        post_quant_conv=_conv3d(latent, latent, 1),
        decoder=_half(c, latent, up=True),
        component=Component.CONV,
        part="vision",
    )


register((), {"AutoencoderKLQwenImage": model}, category="diffusion", source="diffusers")
