"""RecurrentGemma (Griffin; De et al. 2024; transformers/models/recurrent_gemma). Layers follow the
repeating list ``block_types``; ``intermediate_size`` counts gate and up together."""

from ..layers.blocks import activation, gated_mlp
from ..layers.decoders import Decoder, arranged, attends, feeds, normed, of_kind
from ..layers.windows import windows
from ..trees import Component, Conv, Linear, ModelConfig, Module, State, Weight


def _act(c: ModelConfig) -> str | None:
    return c.text("hidden_activation", default="gelu_pytorch_tanh")


def _recurrent(d: Decoder, c: ModelConfig, _kind: str) -> Module:
    """Two gates of one small square matrix per head, and a recurrence of one number per channel."""
    h = d.width(c)
    heads = c.dim("num_attention_heads", default=10)
    width = c.dim("lru_width", default=h)
    kernel = c.dim("conv1d_width", default=4)
    block = width // heads
    unit = {"recurrent_param": Weight(width)}
    for gate in ("input", "recurrent"):
        unit[f"{gate}_gate_weight"] = Weight(heads, block, block)
        unit[f"{gate}_gate_bias"] = Weight(heads, block)
    return Module(
        "RecurrentGemmaRecurrentBlock",
        linear_y=Linear(h, width),
        linear_x=Linear(h, width),
        linear_out=Linear(width, h),
        conv_1d=Conv(width, width, kernel, dims=1, groups=width, component=None),
        rg_lru=Module("RecurrentGemmaRglru", dict(unit)),
        act_fn=activation(_act(c)),
        component=Component.SSM,
        # Its mixers hold these, and of the convolution one column less than its kernel.
        cache=(State("convolution", (width, kernel - 1)), State("recurrent", (width,), "F32")),
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    pattern = c.strings("block_types", default=("recurrent", "recurrent", "attention"), least=1)
    return [pattern[i % len(pattern)] for i in range(layers)]


Decoder(
    "RecurrentGemma",
    intermediate_size=3 * 2560,
    out_bias=True,
    kinds=_kinds,
    last_norm="final_norm",
    tasks=(),
    mlp=lambda d, c: gated_mlp(
        "RecurrentGemmaMlp", d.width(c), d.inner(c) // 2, bias=True, act=_act(c)
    ),
    windows=lambda c: windows(c, 2048, key="attention_window_size"),
    layer=arranged(
        temporal_pre_norm=normed,
        temporal_block=of_kind("recurrent", _recurrent, attends),
        channel_pre_norm=normed,
        mlp_block=feeds,
    ),
).register("recurrent_gemma")
