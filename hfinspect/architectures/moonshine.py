"""Moonshine (Jeffries et al. 2024). Source: transformers/models/moonshine/modeling_moonshine.py.

Three convolutions over the waveform, pre-norm encoder and decoder with rotary positions; the
decoder's MLP is gated by one fused projection.  The class builds the decoder with the encoder's
numbers of heads, whatever the config says of the decoder's; without encoder layers it has its own.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, activation, grouped_attention
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Conv,
    Embedding,
    GroupNorm,
    LayerNorm,
    Layers,
    Linear,
    Module,
)

#: Convolutions over the waveform (MoonshineEncoder): kernel and stride of each.
_CONVS = ((127, 64), (7, 3), (3, 2))


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=288)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), bias=False)


def _encoder_layers(c: ModelConfig) -> Dim:
    return c.count("encoder_num_hidden_layers", default=6)


def _attention(c: ModelConfig) -> Module:
    h, stack = _hidden(c), "encoder" if _encoder_layers(c) else "decoder"
    query = c.dim(f"{stack}_num_attention_heads", default=8)
    kv = c.dim(f"{stack}_num_key_value_heads", default=query)
    heads = Heads(query, kv, c.optional_dim("head_dim") or h // query)
    bias = c.flag("attention_bias", default=False)
    return grouped_attention("MoonshineAttention", h, heads, bias=bias, out_bias=False)


def _mlp(c: ModelConfig, *, decoder: bool) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=1152)
    act = c.text("decoder_hidden_act", "hidden_act", default="silu")
    return Module(
        "MoonshineDecoderMLP" if decoder else "MoonshineEncoderMLP",
        activation_fn=activation(act if decoder else c.text("encoder_hidden_act", default="gelu")),
        fc1=Linear(h, inner * 2 if decoder else inner, kind="gate_up" if decoder else "up"),
        fc2=Linear(inner, h, kind="down"),
        component=Component.MLP,
    )


def encoder(c: ModelConfig) -> Module:
    h = _hidden(c)
    block = Module(
        "MoonshineEncoderLayer",
        self_attn=_attention(c),
        mlp=_mlp(c, decoder=False),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )
    (first, step), (second, then), (third, last) = _CONVS
    return Module(
        "MoonshineEncoder",
        conv1=Conv(1, h, first, dims=1, stride=step, bias=False),
        conv2=Conv(h, 2 * h, second, dims=1, stride=then),
        conv3=Conv(2 * h, h, third, dims=1, stride=last),
        groupnorm=GroupNorm(1, h),
        layers=Layers.of(_encoder_layers(c), block),
        layer_norm=_norm(c),
        rotary_emb=Activation("MoonshineRotaryEmbedding"),
        part="audio",
    )


def decoder(c: ModelConfig) -> Module:
    block = Module(
        "MoonshineDecoderLayer",
        self_attn=_attention(c),
        encoder_attn=_attention(c),
        mlp=_mlp(c, decoder=True),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
        final_layernorm=_norm(c),
    )
    layers = c.count("decoder_num_hidden_layers", "num_hidden_layers", default=6)
    return Module(
        "MoonshineDecoder",
        embed_tokens=Embedding(c.dim("vocab_size", default=32768), _hidden(c)),
        layers=Layers.of(layers, block),
        norm=_norm(c),
        rotary_emb=Activation("MoonshineRotaryEmbedding"),
    )


def model(c: ModelConfig) -> Module:
    return Module("MoonshineModel", encoder=encoder(c), decoder=decoder(c))


def conditional_generation(c: ModelConfig) -> Module:
    head = to_words(
        _hidden(c),
        c.dim("vocab_size", default=32768),
        "model.decoder.embed_tokens.weight" if c.tied() else None,
    )
    return Module("MoonshineForConditionalGeneration", model=model(c), proj_out=head)


register(
    "moonshine",
    {
        "MoonshineForConditionalGeneration": conditional_generation,
        "MoonshineModel": model,
    },
    base="MoonshineModel",
    base_prefix="model",
    category="audio",
)
