"""dots.llm1 (rednote 2025). Source of shapes: transformers/models/dots1/modeling_dots1.py.

DeepSeek-V3's experts around grouped attention with norms of queries and keys. The numbers of
experts have no default.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.experts import corrected_router, routed_and_shared
from ..layers.heads import decoder_classes
from ..layers.windows import windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4608)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-6), class_name="Dots1RMSNorm")


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32, kv=32)
    return grouped_attention(
        "Dots1Attention",
        h,
        heads,
        bias=c.flag("attention_bias", default=False),
        norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
    )


def moe(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("moe_intermediate_size", default=1408)
    count = c.count("n_routed_experts", "num_local_experts", minimum=1)
    return routed_and_shared(
        "Dots1",
        h,
        inner,
        count=count,
        per_token=c.count("num_experts_per_tok"),
        shared=inner * c.count("n_shared_experts"),
        gate=corrected_router("Dots1TopkRouter", h, count),
        act=c.text("hidden_act", default="silu"),
    )


def layer(c: ModelConfig, *, sparse: bool) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=10944)
    act = c.text("hidden_act", default="silu")
    return Module(
        "Dots1DecoderLayer",
        self_attn=attention(c),
        mlp=moe(c) if sparse else gated_mlp("Dots1MLP", h, inner, act=act),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def layers(c: ModelConfig) -> Layers:
    dense = c.count("first_k_dense_replace", default=0)
    kinds = [i >= dense for i in range(int(c.count("num_hidden_layers", default=62)))]
    built = {kind: layer(c, sparse=kind) for kind in set(kinds)}
    return Layers(
        (built[kind] for kind in kinds),
        windows=windows(c, 4096, lambda i, _: i < int(c.count("max_window_layers", default=62))),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "Dots1Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=152064), _hidden(c)),
        layers=layers(c),
        norm=_norm(c, _hidden(c)),
        rotary_emb=Activation("Dots1RotaryEmbedding"),
    )


register(
    "dots1",
    decoder_classes("Dots1", model, hidden=_hidden, heads=()),
    base="Dots1Model",
    base_prefix="model",
    category="text decoder",
)
