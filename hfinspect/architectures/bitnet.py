"""BitNet b1.58 (Ma et al. 2025). Source of shapes: transformers/models/bitnet/modeling_bitnet.py.

Shapes of the unpacked model: a Llama-like decoder with a norm before the output of attention and of
the MLP. Files of packed ternary weights hold four values in a byte.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2560)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-5), class_name="BitNetRMSNorm")


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=6912)
    mlp = gated_mlp("BitNetMLP", h, inner, act=c.text("hidden_act", default="relu2"))
    mlp.children["ffn_sub_norm"] = _norm(c, inner)
    return Module(
        "BitNetDecoderLayer",
        self_attn=grouped_attention(
            "BitNetAttention",
            h,
            grouped_heads(c, h, heads=20, kv=5),
            bias=c.flag("attention_bias", default=False),
            norms=lambda: {"attn_sub_norm": _norm(c, h)},
        ),
        mlp=mlp,
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "BitNetModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=128256), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=30), layer(c)),
        norm=_norm(c, _hidden(c)),
        rotary_emb=Activation("BitNetRotaryEmbedding"),
    )


register(
    "bitnet",
    decoder_classes("BitNet", model, hidden=_hidden, heads=()),
    base="BitNetModel",
    base_prefix="model",
    category="text decoder",
)
