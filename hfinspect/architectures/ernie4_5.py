"""ERNIE 4.5 dense (Baidu 2025). Source: transformers/models/ernie4_5/modeling_ernie4_5.py.

A Llama-like decoder with tied embeddings and one switch for all biases.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=1024)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="Ernie4_5RMSNorm")


def layer(c: ModelConfig) -> Module:
    h, bias = _hidden(c), c.flag("use_bias", default=False)
    # A null head_dim means hidden / heads; only an absent one is 128.
    head_dim = None if "head_dim" in c.values else 128
    heads = grouped_heads(c, h, heads=16, kv=2, head_dim=head_dim)
    inner = c.dim("intermediate_size", default=3072)
    act = c.text("hidden_act", default="silu")
    return Module(
        "Ernie4_5DecoderLayer",
        self_attn=grouped_attention("Ernie4_5Attention", h, heads, bias=bias),
        mlp=gated_mlp("Ernie4_5MLP", h, inner, bias=bias, act=act),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "Ernie4_5Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=103424), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=18), layer(c)),
        norm=_norm(c),
        rotary_emb=Activation("Ernie4_5RotaryEmbedding"),
    )


_CLASSES = decoder_classes("Ernie4_5", model, hidden=_hidden, tied_default=True, heads=())

register(
    "ernie4_5",
    # As the first released config.json spelled it.
    {**_CLASSES, "Ernie4_5_ForCausalLM": _CLASSES["Ernie4_5ForCausalLM"]},
    base="Ernie4_5Model",
    base_prefix="model",
    category="text decoder",
)
