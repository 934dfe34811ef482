"""Apertus (Swiss AI Initiative 2025). Source: transformers/models/apertus/modeling_apertus.py.

A two-matrix MLP whose activation, xIELU, has two learned numbers in every layer (and two fixed
ones, saved as buffers); norms of queries and keys.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Buffer, Embedding, Layers, Linear, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-5), class_name="ApertusRMSNorm")


def xielu() -> Module:
    """Expanded integral of the ELU (Huang & Schlag 2025)."""
    return Module(
        "XIELUActivation",
        alpha_p=Weight(exact(1)),
        alpha_n=Weight(exact(1)),
        beta=Buffer(),
        eps=Buffer(),
    )


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=14336)
    heads = grouped_heads(c, h, heads=32)
    act = c.text("hidden_act", default="xielu")
    return Module(
        "ApertusDecoderLayer",
        self_attn=grouped_attention(
            "ApertusAttention",
            h,
            heads,
            bias=c.flag("attention_bias", default=False),
            norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
        ),
        mlp=Module(
            "ApertusMLP",
            up_proj=Linear(h, inner, bias=False, kind="up"),
            down_proj=Linear(inner, h, bias=False, kind="down"),
            act_fn=xielu() if act == "xielu" else activation(act),
            component=Component.MLP,
        ),
        attention_layernorm=_norm(c, h),
        feedforward_layernorm=_norm(c, h),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "ApertusModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=131072), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c, _hidden(c)),
        rotary_emb=Activation("ApertusRotaryEmbedding"),
    )


register(
    "apertus",
    decoder_classes("Apertus", model, hidden=_hidden, heads=("ForTokenClassification",)),
    base="ApertusModel",
    base_prefix="model",
    category="text decoder",
)
