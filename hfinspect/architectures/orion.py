"""Orion-14B (OrionStar 2024). No class in transformers. Source of shapes: modeling_orion.py in
OrionStarAI/Orion-14B-Base; vLLM's orion.py reads the same names.

Llama's block with LayerNorms (weight and bias) in the place of RMSNorms.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Embedding, LayerNorm, Layers, Module


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("rms_norm_eps", default=1e-5))


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "OrionDecoderLayer",
        self_attn=grouped_attention(
            "OrionAttention", h, grouped_heads(c, h, heads=40),
            bias=c.flag("attention_bias", default=False),
        ),
        mlp=gated_mlp(
            "OrionMLP", h, c.dim("intermediate_size", default=15360),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )  # fmt: skip


def model(c: ModelConfig) -> Module:
    return Module(
        "OrionModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=84608), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=40), layer(c)),
        norm=_norm(c),
    )


register(
    "orion",
    decoder_classes("Orion", model, hidden=_hidden, heads=("ForSequenceClassification",)),
    base="OrionModel",
    base_prefix="model",
    category="text decoder",
    source="modeling_orion.py of OrionStarAI/Orion-14B-Base",
)
