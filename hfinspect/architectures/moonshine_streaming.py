"""The encoder of Moonshine for streams (Useful Sensors); the whole is a trace. Source:
transformers/models/moonshine_streaming. Layers look at a window, without positions."""

from functools import partial

from ..layers.blocks import grouped_attention, grouped_heads
from ..layers.vision import plain_mlp
from ..trees import Component, ModelConfig, named, register_part
from ..trees.modules import Activation, Conv, Layers, Linear, Module, Weight

_NAME = "MoonshineStreaming"
_MAX_FRAME = 1_000_000  # a second of the highest rate of recordings


def encoder(c: ModelConfig) -> Module:
    h = c.dim("hidden_size", default=320)
    inner = c.dim("intermediate_size", default=1280)
    rate = c.number("sample_rate", default=16000)
    time = c.number("frame_ms", default=5.0)
    samples = round(rate * time / 1000.0)
    name = f"{_NAME}Encoder"
    if not 1 <= samples <= _MAX_FRAME:
        raise c.error("frame_ms", time, f"frames of 1 to {_MAX_FRAME:,} samples")
    frame = named(samples, "frame_length", "sample_rate * frame_ms / 1000, rounded")
    # Kernel and stride are those of the class.
    causal = partial(Conv, kernel=5, dims=1, stride=2, class_name=f"{_NAME}CausalConv1d")
    norm = Module(f"{_NAME}LayerNorm", gamma=Weight(h), component=Component.NORM)
    heads = grouped_heads(c, h, heads=8, kv=8)
    bias = c.flag("attention_bias", default=False)
    mlp = plain_mlp(f"{name}MLP", h, inner, act=c.text("hidden_act", default="gelu"))
    parts = {"self_attn": grouped_attention(f"{name}Attention", h, heads, bias=bias), "mlp": mlp}
    parts |= dict.fromkeys(("input_layernorm", "post_attention_layernorm"), norm)
    layers = Layers.of(c.count("num_hidden_layers", default=6), Module(f"{name}Layer", parts))
    embedder = Module(
        f"{name}Embedder",
        cmvn=Activation(f"{_NAME}FrameCMVN"),
        comp=Module(f"{_NAME}AsinhCompression", log_k=Weight()),
        conv1=causal(h, h * 2),
        conv2=causal(h * 2, h),
        linear=Linear(frame, h, bias=False),
        component=Component.EMBEDDING,
    )
    return Module(name, embedder=embedder, layers=layers, final_norm=norm, part="audio")


register_part("moonshine_streaming_encoder", f"{_NAME}Encoder", encoder, "audio")
