"""Beam. Source of shapes: transformers/models/beam/modeling_beam.py.

Attention with norms of queries and keys and a biased gate on its output; four norms in a layer;
three dense layers, then experts with a corrected router and none shared.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads, layer_types
from ..layers.experts import corrected_router, routed_and_shared
from ..layers.heads import decoder_classes
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=5120)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-6), class_name="BeamRMSNorm")


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=48, kv=8, head_dim=128)
    block = grouped_attention(
        "BeamAttention",
        h,
        heads,
        bias=c.flag("attention_bias", default=False),
        norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
    )
    block.children["gate_proj"] = Linear(h, heads.query * heads.dim, bias=False, kind="gate")
    block.children["gate_bias"] = Weight(heads.query, kind="gate")
    return block


def moe(c: ModelConfig) -> Module:
    h = _hidden(c)
    count = c.count("num_experts", default=256, minimum=1)
    return routed_and_shared(
        "Beam",
        h,
        c.dim("moe_intermediate_size", default=2560),
        count=count,
        per_token=c.count("num_experts_per_tok", default=8),
        shared=None,
        gate=corrected_router("BeamTopKRouter", h, count),
        act=c.text("hidden_act", default="silu"),
    )


def layer(c: ModelConfig, kind: str) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=20480)
    act = c.text("hidden_act", default="silu")
    return Module(
        "BeamDecoderLayer",
        self_attn=attention(c),
        mlp=moe(c) if kind == "sparse" else gated_mlp("BeamMLP", h, inner, act=act),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
        pre_feedforward_layernorm=_norm(c, h),
        post_feedforward_layernorm=_norm(c, h),
    )


def layers(c: ModelConfig) -> Layers:
    kinds = layer_types(
        c,
        c.count("num_hidden_layers", default=52),
        lambda i: "dense" if i < 3 else "sparse",
        key="mlp_layer_types",
    )
    built = {kind: layer(c, kind) for kind in set(kinds)}
    return Layers((built[kind] for kind in kinds), windows=windows(c, 512, every(6, last=True)))


def model(c: ModelConfig) -> Module:
    return Module(
        "BeamModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=151936), _hidden(c)),
        layers=layers(c),
        norm=_norm(c, _hidden(c)),
        rotary_emb=Activation("BeamRotaryEmbedding"),
    )


register(
    "beam",
    decoder_classes("Beam", model, hidden=_hidden, heads=()),
    base="BeamModel",
    base_prefix="model",
    category="text decoder",
)
