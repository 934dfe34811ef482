"""Persimmon-8B (Adept 2023). Source: transformers/models/persimmon/modeling_persimmon.py.

q, k and v in one matrix, biases throughout, norms over each query and key, squared ReLU.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Embedding, LayerNorm, Layers, Linear, Module


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig, size: Dim | None = None) -> Module:
    eps = c.number("layer_norm_eps", default=1e-5)
    return LayerNorm(_hidden(c) if size is None else size, eps=eps)


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = c.dim("num_attention_heads", default=64)
    head = c.divided(h, heads, "hidden_size", "num_attention_heads")
    normed = c.flag("qk_layernorm", default=True)
    return Module(
        "PersimmonAttention",
        query_key_value=Linear(h, 3 * h, kind="qkv"),
        dense=Linear(h, h, kind="output"),
        q_layernorm=_norm(c, head) if normed else None,
        k_layernorm=_norm(c, head) if normed else None,
        attention_dropout=Dropout(c.number("attention_dropout", default=0.0)),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=16384)
    return Module(
        "PersimmonDecoderLayer",
        self_attn=attention(c),
        mlp=Module(
            "PersimmonMLP",
            dense_h_to_4h=Linear(h, inner, kind="up"),
            dense_4h_to_h=Linear(inner, h, kind="down"),
            act=activation(c.text("hidden_act", default="relu2")),
            component=Component.MLP,
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
        dropout=Dropout(c.number("hidden_dropout", default=0.0)),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "PersimmonModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=262144), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=36), layer(c)),
        final_layernorm=_norm(c),
        rotary_emb=Activation("PersimmonRotaryEmbedding"),
    )


register(
    "persimmon",
    decoder_classes(
        "Persimmon", model, hidden=_hidden,
        heads=("ForSequenceClassification", "ForTokenClassification"),
    ),
    base="PersimmonModel",
    base_prefix="model",
    category="text decoder",
)  # fmt: skip
