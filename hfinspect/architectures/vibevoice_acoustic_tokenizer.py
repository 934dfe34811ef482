"""VibeVoice's tokenizer of sound (Microsoft 2025): stages of one-dimensional ConvNeXt layers, down
to a few frames a second and back up (transformers/models/vibevoice_acoustic_tokenizer)."""

from functools import partial
from itertools import accumulate, pairwise
from typing import Any

from ..layers import conformers
from ..layers.blocks import two_layer_mlp
from ..trees import Component, Dim, ModelConfig, auto_model, register_part
from ..trees.modules import Conv, Module, ModuleList, RMSNorm, Weight

NAME = "VibeVoiceAcousticTokenizer"
TYPE = "vibevoice_acoustic_tokenizer"
ENCODER = f"{TYPE}_encoder"
_DECODER = f"{TYPE}_decoder"


def _conv(inputs: Dim, outputs: Dim, kernel: Dim, **options: Any) -> Module:
    return Module(f"{NAME}CausalConv1d", conv=Conv(inputs, outputs, kernel, dims=1, **options))


def _stack(c: ModelConfig, side: str, *, reverse: bool = False) -> Module:
    """Stages of layers, a strided convolution between each two, or in the decoder a transposed one;
    ``reverse``: the depths are those of the encoder, whose order is the other one."""
    up = side == "Decoder"
    ratios = c.dims("downsampling_ratios", default=(2, 2, 4, 5, 5, 8))
    usual = (3, 3, 3, 3, 3, 3, 8)
    count = len(ratios) + 1
    depths = c.dims("depths", default=usual, minimum=0, maximum=1000, count=count)
    filters = c.dim("num_filters", default=32)
    kernel = c.dim("kernel_size", default=7)
    eps = c.number("rms_norm_eps", default=1e-5)
    act = c.text("hidden_act", default="gelu")
    expansion = c.dim("ffn_expansion", default=4)

    def layer(width: Dim) -> Module:
        norm = RMSNorm(width, eps=eps, class_name=f"{NAME}RMSNorm")
        inner = expansion * width
        return Module(
            f"{NAME}ConvNext1dLayer",
            gamma=Weight(width, kind="scale"),
            ffn_gamma=Weight(width, kind="scale", component=Component.MLP),
            norm=norm,
            ffn_norm=norm,
            ffn=two_layer_mlp(f"{NAME}FeedForward", width, inner, act=act, **conformers.MLP),
            mixer=_conv(width, width, kernel, groups=width),
        )

    ends = [c.dim("channels", default=1), c.dim("hidden_size", default=64)]
    widths = list(accumulate(ratios, lambda width, _: width * 2, initial=filters))
    if up:
        widths = [*(filters * 2**i for i in range(len(ratios), 0, -1)), filters]
        ends = ends[::-1]
        ratios = ratios[::-1]
        depths = depths[::-1] if reverse else depths
    stages = [
        ModuleList([layer(width)] * int(depth)) for width, depth in zip(widths, depths, strict=True)
    ]
    layers = list[Module]()
    name = "convtr" if up else "conv"
    kind = "Transpose" if up else ""
    for (above, below), ratio, stage in zip(pairwise(widths), ratios, stages[1:], strict=True):
        conv = Conv(above, below, ratio * 2, dims=1, stride=ratio, transposed=up)
        causal = Module(f"{NAME}CausalConv{kind}1d", {name: conv})
        layers.append(Module(f"{NAME}{side}Layer", {name: causal, "stage": stage}))
    return Module(
        f"{NAME}{side}Model",
        stem=Module(f"{NAME}{side}Stem", conv=_conv(ends[0], widths[0], kernel), stage=stages[0]),
        conv_layers=ModuleList(layers),
        head=_conv(widths[-1], ends[1], kernel, component=Component.HEAD),
        component=Component.CONV,
        part="audio",
    )


def model(c: ModelConfig) -> Module:
    back = _stack(c, "Decoder", reverse=True)
    return Module(f"{NAME}Model", encoder=_stack(c, "Encoder"), decoder=back)


def section(c: ModelConfig, key: str, default_type: str, width: int = 64) -> tuple[Module, Dim]:
    """A tokenizer (or one side of it) that a composite takes, and the width of its frames; an
    absent section has frames of ``width``. Raises ConfigError for another model_type."""
    inner = c.section(key, default={"hidden_size": width}).of_type(TYPE, ENCODER, _DECODER)
    return auto_model(inner, default_type=default_type), inner.dim("hidden_size", default=64)


register_part(TYPE, f"{NAME}Model", model, "audio")
for _side in ("Encoder", "Decoder"):
    _name = f"{NAME}{_side}Model"
    _build = partial(_stack, side=_side)
    register_part(f"{TYPE}_{_side.lower()}", _name, _build, "audio")
