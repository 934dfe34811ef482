"""Gemma (Gemma Team 2024). Source of shapes: transformers/models/gemma/modeling_gemma.py.

A Llama-like decoder with wide heads (head_dim 256 whatever the width) and a tied, scaled embedding.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=3072)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(
        _hidden(c), eps=c.number("rms_norm_eps", default=1e-6), class_name="GemmaRMSNorm"
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=16, kv=16, head_dim=256)
    inner = c.dim("intermediate_size", default=24576)
    act = c.text("hidden_activation", "hidden_act", default="gelu_pytorch_tanh")
    return Module(
        "GemmaDecoderLayer",
        self_attn=grouped_attention(
            "GemmaAttention", h, heads, bias=c.flag("attention_bias", default=False)
        ),
        mlp=gated_mlp("GemmaMLP", h, inner, act=act),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    vocab = c.dim("vocab_size", default=256000)
    return Module(
        "GemmaModel",
        embed_tokens=Embedding(vocab, _hidden(c), class_name="GemmaTextScaledWordEmbedding"),
        layers=Layers.of(c.count("num_hidden_layers", default=28), layer(c)),
        norm=_norm(c),
        rotary_emb=Activation("GemmaRotaryEmbedding"),
    )


register(
    "gemma",
    decoder_classes(
        "Gemma",
        model,
        hidden=_hidden,
        tied_default=True,
        heads=("ForSequenceClassification", "ForTokenClassification"),
    ),
    base="GemmaModel",
    base_prefix="model",
    category="text decoder",
)
