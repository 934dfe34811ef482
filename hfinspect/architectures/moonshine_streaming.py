"""Moonshine for streams (Useful Sensors). Source: transformers/models/moonshine_streaming.

Frames of a few milliseconds through one matrix and two causal convolutions; an encoder that looks
at a window, without positions, and Moonshine's decoder, which adds positions to what it hears.  The
config class has no number of key heads of the decoder: released files give it, and where one does
not, it is that of the query heads (transformers builds none then).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import activation, grouped_attention, grouped_heads, size
from ..layers.heads import to_words
from ..layers.vision import plain_mlp
from ..trees.catalog import register_pair, register_part
from ..trees.modules import Activation, Conv, Embedding, LayerNorm, Layers, Linear, Module, Weight

_NAME = "MoonshineStreaming"
#: Kernel and stride of both convolutions (MoonshineStreamingEncoderEmbedder).
_KERNEL, _STRIDE = 5, 2
#: A second of the highest rate of recordings.
_MAX_FRAME = 1_000_000


_hidden = size("hidden_size", default=320)


def _attention(c: ModelConfig, name: str, *, out_bias: bool, kv: int | None) -> Module:
    """The encoder's output projection has a bias where the others have, the decoder's never."""
    h, bias = _hidden(c), c.flag("attention_bias", default=False)
    heads = grouped_heads(c, h, heads=8, kv=kv)
    return grouped_attention(name, h, heads, bias=bias, out_bias=bias and out_bias)


_inner = size("intermediate_size", default=1280)


# ---- encoder


def _frame(c: ModelConfig) -> Dim:
    rate, time = c.number("sample_rate", default=16000), c.number("frame_ms", default=5.0)
    found = round(rate * time / 1000.0)
    if not 1 <= found <= _MAX_FRAME:
        raise c.error("frame_ms", time, f"frames of 1 to {_MAX_FRAME:,} samples")
    return named(found, "frame_length", "sample_rate * frame_ms / 1000, rounded")


def _norm(h: Dim) -> Module:
    return Module(f"{_NAME}LayerNorm", gamma=Weight(h), component=Component.NORM)


def embedder(c: ModelConfig) -> Module:
    h = _hidden(c)

    def convolution(inputs: Dim, outputs: Dim) -> Module:
        made = Conv(inputs, outputs, _KERNEL, dims=1, stride=_STRIDE)
        made.class_name = f"{_NAME}CausalConv1d"
        return made

    return Module(
        f"{_NAME}EncoderEmbedder",
        cmvn=Activation(f"{_NAME}FrameCMVN"),
        comp=Module(f"{_NAME}AsinhCompression", log_k=Weight()),
        conv1=convolution(h, h * 2),
        conv2=convolution(h * 2, h),
        linear=Linear(_frame(c), h, bias=False),
        component=Component.EMBEDDING,
    )


def encoder(c: ModelConfig) -> Module:
    h = _hidden(c)
    block = Module(
        f"{_NAME}EncoderLayer",
        self_attn=_attention(c, f"{_NAME}EncoderAttention", out_bias=True, kv=8),
        mlp=plain_mlp(f"{_NAME}EncoderMLP", h, _inner(c), act=c.text("hidden_act", default="gelu")),
        input_layernorm=_norm(h),
        post_attention_layernorm=_norm(h),
    )
    return Module(
        f"{_NAME}Encoder",
        embedder=embedder(c),
        layers=Layers.of(c.count("num_hidden_layers", default=6), block),
        final_norm=_norm(h),
        part="audio",
    )


# ---- decoder


def decoder(c: ModelConfig) -> Module:
    h, heard = _hidden(c), _hidden(c.section("encoder_config"))

    def norm() -> Module:
        return LayerNorm(h, bias=False)

    attend = _attention(c, f"{_NAME}Attention", out_bias=False, kv=None)
    block = Module(
        f"{_NAME}DecoderLayer",
        self_attn=attend,
        encoder_attn=attend,
        mlp=Module(
            f"{_NAME}DecoderMLP",
            activation_fn=activation(c.text("hidden_act", default="silu")),
            fc1=Linear(h, _inner(c) * 2, kind="gate_up"),
            fc2=Linear(_inner(c), h, kind="down"),
            component=Component.MLP,
        ),
        input_layernorm=norm(),
        post_attention_layernorm=norm(),
        final_layernorm=norm(),
    )
    positions = c.dim("max_position_embeddings", default=4096)
    projection = Linear(heard, h, bias=False, component=Component.PROJECTOR)
    return Module(
        f"{_NAME}Decoder",
        embed_tokens=Embedding(c.dim("vocab_size", default=32768), h),
        layers=Layers.of(c.count("num_hidden_layers", default=6), block),
        norm=norm(),
        rotary_emb=Activation(f"{_NAME}RotaryEmbedding"),
        pos_emb=Embedding(positions, heard, kind="position"),
        proj=Activation("Identity") if int(heard) == int(h) else projection,
    )


def model(c: ModelConfig) -> Module:
    return Module(f"{_NAME}Model", encoder=encoder(c.section("encoder_config")), decoder=decoder(c))


def conditional_generation(c: ModelConfig) -> Module:
    to = "model.decoder.embed_tokens.weight" if c.tied(default=False) else None
    head = to_words(_hidden(c), c.dim("vocab_size", default=32768), to)
    return Module(f"{_NAME}ForConditionalGeneration", model=model(c), proj_out=head)


register_pair("moonshine_streaming", _NAME, conditional_generation, model, "audio")
register_part("moonshine_streaming_encoder", f"{_NAME}Encoder", encoder, "audio")
