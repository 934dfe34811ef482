"""Emu3's text model (BAAI 2024). Source of shapes: transformers/models/emu3/modeling_emu3.py.

A Llama-like decoder whose words are also the codes of images.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import causal_lm
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-5), class_name="Emu3RMSNorm")


def layer(c: ModelConfig) -> Module:
    h, inner = hidden(c), c.dim("intermediate_size", default=14336)
    heads = grouped_heads(c, h, heads=32, kv=8)
    act, bias = c.text("hidden_act", default="silu"), c.flag("mlp_bias", default=False)
    return Module(
        "Emu3DecoderLayer",
        self_attn=grouped_attention(
            "Emu3Attention", h, heads, bias=c.flag("attention_bias", default=False)
        ),
        mlp=gated_mlp("Emu3MLP", h, inner, bias=bias, act=act),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "Emu3TextModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=184622), hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c, hidden(c)),
        rotary_emb=Activation("Emu3RotaryEmbedding"),
    )


register(
    "emu3_text_model",
    {"Emu3ForCausalLM": causal_lm("Emu3ForCausalLM", model), "Emu3TextModel": model},
    base="Emu3TextModel",
    base_prefix="model",
    category="text decoder",
)
