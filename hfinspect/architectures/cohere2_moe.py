"""Cohere 2 with experts. Source: transformers/models/cohere2_moe/modeling_cohere2_moe.py.

Attention and MLP side by side on one norm, as in Command R7B; after ``first_k_dense_replace`` dense
layers, experts of the full ``intermediate_size`` and, where asked, shared ones. The norm is a
layer norm without bias, or an RMS norm where ``rms_norm_eps`` is given.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads, layer_types
from ..layers.experts import experts, router
from ..layers.heads import decoder_classes
from ..layers.windows import windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=8192)


def _norm(c: ModelConfig) -> Module:
    kind = "RMSNorm" if c.has("rms_norm_eps") else "LayerNorm"
    return Module(f"Cohere2Moe{kind}", weight=Weight(_hidden(c)), component=Component.NORM)


def mlp(c: ModelConfig, inner: Dim, kind: str | None = None) -> Module:
    act = c.text("hidden_act", default="silu")
    return gated_mlp("Cohere2MoeMLP", _hidden(c), inner, act=act, kind=kind)


def moe(c: ModelConfig) -> Module:
    inner = c.dim("intermediate_size", default=22528)
    count = c.count("num_experts", default=8, minimum=1)
    shared = c.count("num_shared_experts", default=0)
    per_token = c.count("num_experts_per_tok", default=2)
    return Module(
        "Cohere2MoeSparseMoeBlock",
        gate=router("Cohere2MoeTopKRouter", _hidden(c), count),
        experts=experts(count, per_token, mlp(c, inner), class_name="Cohere2MoeExperts"),
        shared_experts=mlp(c, inner * shared, "shared_expert") if shared else None,
        component=Component.MLP,
    )


def layer(c: ModelConfig, kind: str) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=22528)
    dense = c.dim("prefix_dense_intermediate_size", default=inner)
    return Module(
        "Cohere2MoeDecoderLayer",
        self_attn=grouped_attention(
            "Cohere2MoeAttention",
            h,
            grouped_heads(c, h, heads=64, head_dim=128),
            bias=c.flag("attention_bias", default=False),
        ),
        mlp=mlp(c, dense) if kind == "dense" else moe(c),
        input_layernorm=_norm(c),
    )


def layers(c: ModelConfig) -> Layers:
    first = c.count("first_k_dense_replace", default=0)
    kinds = layer_types(
        c,
        c.count("num_hidden_layers", default=40),
        lambda i: "dense" if i < first else "sparse",
        key="mlp_layer_types",
    )
    built = {kind: layer(c, kind) for kind in set(kinds)}
    # The dense layers at the beginning have a rhythm of their own.
    prefix = int(c.dim("prefix_dense_sliding_window_pattern", default=1))
    step = int(c.dim("sliding_window_pattern", default=4))

    def sees_all(i: int, _layers: int) -> bool:
        return (i + 1) % prefix == 0 if i < first else (i - int(first) + 1) % step == 0

    return Layers((built[kind] for kind in kinds), windows=windows(c, 4096, sees_all))


def model(c: ModelConfig) -> Module:
    return Module(
        "Cohere2MoeModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=256000), _hidden(c)),
        layers=layers(c),
        norm=_norm(c),
        rotary_emb=Activation("Cohere2MoeRotaryEmbedding"),
    )


register(
    "cohere2_moe",
    decoder_classes("Cohere2Moe", model, hidden=_hidden, tied_default=True, heads=()),
    base="Cohere2MoeModel",
    base_prefix="model",
    category="text decoder",
)
