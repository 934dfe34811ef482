"""Trinity (Arcee AI 2025). Source of shapes: transformers/models/afmoe/modeling_afmoe.py.

Attention with norms of queries and keys and a gate on its output; four norms in a layer; experts
with shared ones after ``num_dense_layers``. The router's correction is a parameter.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.experts import experts
from ..layers.heads import decoder_classes
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-5), class_name="AfmoeRMSNorm")


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=16, head_dim=128)
    gate = Linear(h, heads.query * heads.dim, bias=False, kind="gate")
    return grouped_attention(
        "AfmoeAttention",
        h,
        heads,
        bias=c.flag("attention_bias", default=False),
        norms=lambda: {
            "q_norm": _norm(c, heads.dim),
            "k_norm": _norm(c, heads.dim),
            "gate_proj": gate,
        },
    )


def mlp(c: ModelConfig, inner: Dim, kind: str | None = None) -> Module:
    act = c.text("hidden_act", default="silu")
    return gated_mlp("AfmoeMLP", _hidden(c), inner, act=act, kind=kind)


def moe(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("moe_intermediate_size", default=1408)
    count = c.count("num_experts", default=64, minimum=1)
    per_token = c.count("num_experts_per_tok", default=6)
    shared = inner * c.count("num_shared_experts", default=2)
    return Module(
        "AfmoeSparseMoeBlock",
        router=Module(
            "AfmoeTokenChoiceRouter",
            gate=Linear(h, count, bias=False),
            component=Component.ROUTER,
        ),
        shared_experts=mlp(c, shared, "shared_expert"),
        experts=experts(count, per_token, mlp(c, inner), class_name="AfmoeExperts"),
        expert_bias=Weight(count, component=Component.ROUTER),
        component=Component.MLP,
    )


def layer(c: ModelConfig, *, sparse: bool) -> Module:
    h, dense = _hidden(c), c.dim("intermediate_size", default=6144)
    return Module(
        "AfmoeDecoderLayer",
        self_attn=attention(c),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
        pre_mlp_layernorm=_norm(c, h),
        post_mlp_layernorm=_norm(c, h),
        mlp=moe(c) if sparse else mlp(c, dense),
    )


def layers(c: ModelConfig) -> Layers:
    dense = c.count("num_dense_layers", default=1)
    kinds = [i >= dense for i in range(int(c.count("num_hidden_layers", default=32)))]
    built = {kind: layer(c, sparse=kind) for kind in set(kinds)}
    return Layers(
        (built[kind] for kind in kinds),
        windows=windows(c, 1024, every(int(c.dim("global_attn_every_n_layers", default=4)))),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "AfmoeModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=200192), _hidden(c)),
        layers=layers(c),
        norm=_norm(c, _hidden(c)),
        rotary_emb=Activation("AfmoeRotaryEmbedding"),
    )


register(
    "afmoe",
    decoder_classes("Afmoe", model, hidden=_hidden, heads=()),
    base="AfmoeModel",
    base_prefix="model",
    category="text decoder",
)
