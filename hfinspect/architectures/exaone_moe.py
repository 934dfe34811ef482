"""K-EXAONE (LG AI Research 2025). Source: transformers/models/exaone_moe/modeling_exaone_moe.py.

EXAONE 4's attention with norms before the halves of a layer, and experts after the first layers.
Files hold the router's correction next to the router, not in it.  They also hold a block ``mtp`` of
``num_nextn_predict_layers`` dense layers that predict the token after next; transformers drops it.
Its names and shapes: vLLM, model_executor/models/exaone_moe_mtp.py.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads, layer_types
from ..layers.experts import experts, router
from ..layers.heads import decoder_classes
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import Activation, Buffer, Embedding, Layers, Module, RMSNorm
from .qwen3_next import token_predictor, with_predictor


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-5), class_name="ExaoneMoeRMSNorm")


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32, kv=32)
    return grouped_attention(
        "ExaoneMoeAttention",
        h,
        heads,
        norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
    )


def mlp(c: ModelConfig, inner: Dim, kind: str | None = None) -> Module:
    act = c.text("hidden_act", default="silu")
    return gated_mlp("ExaoneMoeMLP", _hidden(c), inner, act=act, kind=kind)


def moe(c: ModelConfig) -> Module:
    inner = c.dim("moe_intermediate_size", default=1024)
    count = c.count("num_experts", default=64, minimum=1)
    shared = inner * c.count("num_shared_experts", default=1)
    per_token = c.count("num_experts_per_tok", default=8)
    return Module(
        "ExaoneMoeSparseMoEBlock",
        experts=experts(count, per_token, mlp(c, inner), class_name="ExaoneMoeExperts"),
        gate=router("ExaoneMoeTopkRouter", _hidden(c), count),
        e_score_correction_bias=Buffer(count, dtype="F32"),
        shared_experts=mlp(c, shared, "shared_expert"),
        component=Component.MLP,
    )


def layer(c: ModelConfig, kind: str) -> Module:
    h, dense = _hidden(c), c.dim("intermediate_size", default=16384)
    return Module(
        "ExaoneMoeDecoderLayer",
        self_attn=attention(c),
        mlp=moe(c) if kind == "sparse" else mlp(c, dense),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def layers(c: ModelConfig) -> Layers:
    dense = c.count("first_k_dense_replace", default=1)
    kinds = layer_types(
        c,
        c.count("num_hidden_layers", default=32),
        lambda i: "dense" if i < dense else "sparse",
        key="mlp_layer_types",
    )
    built = {kind: layer(c, kind) for kind in set(kinds)}
    return Layers(
        (built[kind] for kind in kinds),
        windows=windows(c, 4096, every(int(c.dim("sliding_window_pattern", default=4)))),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "ExaoneMoeModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=102400), _hidden(c)),
        layers=layers(c),
        norm=_norm(c, _hidden(c)),
        rotary_emb=Activation("ExaoneMoeRotaryEmbedding"),
    )


def predictor(c: ModelConfig) -> Module | None:
    count = int(c.count("num_nextn_predict_layers", default=0))
    if not count:
        return None
    h = _hidden(c)
    return token_predictor("ExaoneMoe", h, lambda _: _norm(c, h), layer(c, "dense"), count)


_classes = decoder_classes("ExaoneMoe", model, hidden=_hidden, heads=())
_causal = with_predictor(_classes["ExaoneMoeForCausalLM"], predictor)

register(
    "exaone_moe",
    {**_classes, "ExaoneMoeForCausalLM": _causal},
    base="ExaoneMoeModel",
    base_prefix="model",
    category="text decoder",
)
