"""Phi-3, Phi-3.5 and Phi-4 (Abdin et al. 2024). Source: transformers/models/phi3/modeling_phi3.py.

Llama's block with q, k and v in one matrix, and gate and up in another.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.windows import windows
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Embedding, Layers, Linear, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=3072)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(_hidden(c), eps=c.number("rms_norm_eps", default=1e-5), class_name="Phi3RMSNorm")


def attention(c: ModelConfig) -> Module:
    """H·(h + 2g)·d for queries, keys and values together."""
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32)
    width = heads.query * heads.dim
    return Module(
        "Phi3Attention",
        o_proj=Linear(width, h, bias=False, kind="output"),
        qkv_proj=Linear(h, width + 2 * (heads.kv * heads.dim), bias=False, kind="qkv"),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=8192)
    dropout = Dropout(c.number("resid_pdrop", default=0.0))
    return Module(
        "Phi3DecoderLayer",
        self_attn=attention(c),
        mlp=Module(
            "Phi3MLP",
            gate_up_proj=Linear(h, 2 * inner, bias=False, kind="gate_up"),
            down_proj=Linear(inner, h, bias=False, kind="down"),
            activation_fn=activation(c.text("hidden_act", default="silu")),
            component=Component.MLP,
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
        resid_attn_dropout=dropout,
        resid_mlp_dropout=dropout,
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "Phi3Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=32064), _hidden(c)),
        layers=Layers.of(
            c.count("num_hidden_layers", default=32), layer(c), windows=windows(c, None)
        ),
        norm=_norm(c),
        rotary_emb=Activation("Phi3RotaryEmbedding"),
    )


register(
    "phi3",
    decoder_classes(
        "Phi3", model, hidden=_hidden,
        heads=("ForSequenceClassification", "ForTokenClassification"),
    ),
    base="Phi3Model",
    base_prefix="model",
    category="text decoder",
)  # fmt: skip
