"""Persimmon-8B (Adept 2023). Source: transformers/models/persimmon/modeling_persimmon.py.

q, k and v in one matrix, biases throughout, norms over each query and key, squared ReLU.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation
from ..layers.decoders import LABEL_HEADS, Decoder, layer_norms, pre_norm
from ..trees.modules import Dropout, Linear, Module
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    head = c.divided(h, d.size(c, "num_attention_heads"), "hidden_size", "num_attention_heads")
    normed = c.flag("qk_layernorm", default=True)
    return Module(
        "PersimmonAttention",
        query_key_value=Linear(h, 3 * h, kind="qkv"),
        dense=Linear(h, h, kind="output"),
        q_layernorm=d.norm(d, c, head) if normed else None,
        k_layernorm=d.norm(d, c, head) if normed else None,
        attention_dropout=Dropout(c.number("attention_dropout", default=0.0)),
        component=Component.ATTENTION,
    )


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    h, inner = d.width(c), d.inner(c)
    return Module(
        "PersimmonMLP",
        dense_h_to_4h=Linear(h, inner, kind="up"),
        dense_4h_to_h=Linear(inner, h, kind="down"),
        act=activation(d.act(c)),
        component=Component.MLP,
    )


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block = pre_norm(d, c, kind)
    block.children["dropout"] = Dropout(c.number("hidden_dropout", default=0.0))
    return block


LLAMA.like(
    "Persimmon",
    vocab_size=262144,
    intermediate_size=16384,
    num_hidden_layers=36,
    num_attention_heads=64,
    hidden_act="relu2",
    endings=LABEL_HEADS,
    norm=layer_norms("layer_norm_eps"),
    attention=_attention,
    mlp=_mlp,
    layer=_layer,
    last_norm="final_layernorm",
).register("persimmon")
