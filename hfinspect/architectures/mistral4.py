"""Mistral Small 4 (Mistral AI 2026). Source of shapes: transformers/models/mistral4.

Multi-head latent attention and routed experts as in DeepSeek-V3, without a correction of the
router's scores. Files hold a layer's experts stacked, as they are in memory.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, gated_mlp
from ..layers.experts import router, shared_width
from ..layers.heads import decoder_classes
from ..layers.latent import latent_attention, latent_sizes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c), eps=eps, class_name="Mistral4RMSNorm")


def moe(c: ModelConfig) -> Module:
    """3·E·H·I routed weights, of which k in E serve a token, and one shared expert."""
    h, act = _hidden(c), c.text("hidden_act", default="silu")
    inner = c.dim("moe_intermediate_size", default=2048)
    count = c.count("n_routed_experts", "num_local_experts", default=128, minimum=1)
    used = (min(int(c.count("num_experts_per_tok", default=4)), int(count)), int(count))
    shared = shared_width(c, inner, default=1)
    return Module(
        "Mistral4MoE",
        experts=Module(
            "Mistral4Experts",
            gate_up_proj=Weight(count, 2 * inner, h, active=used),
            down_proj=Weight(count, h, inner, active=used),
            act_fn=activation(act),
            kind="expert",
        ),
        gate=router("Mistral4TopkRouter", h, count),
        shared_experts=gated_mlp("Mistral4MLP", h, shared, act=act, kind="shared_expert")
        if shared
        else None,
        component=Component.MLP,
    )


def layer(c: ModelConfig, *, sparse: bool) -> Module:
    h = _hidden(c)
    sizes = latent_sizes(c, heads=32, query_rank=1024, kv_rank=256, plain=64)
    dense = c.dim("intermediate_size", default=12288)
    return Module(
        "Mistral4DecoderLayer",
        self_attn=latent_attention(
            "Mistral4", h, sizes, bias=c.flag("attention_bias", default=False)
        ),
        mlp=moe(c)
        if sparse
        else gated_mlp("Mistral4MLP", h, dense, act=c.text("hidden_act", default="silu")),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    count = int(c.count("num_hidden_layers", default=36))
    first = int(c.count("first_k_dense_replace", default=0))
    kinds = [i >= first for i in range(count)]
    built = {kind: layer(c, sparse=kind) for kind in set(kinds)}
    return Module(
        "Mistral4Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=131072), _hidden(c)),
        layers=Layers(built[kind] for kind in kinds),
        norm=_norm(c),
        rotary_emb=Activation("Mistral4RotaryEmbedding"),
    )


register(
    "mistral4",
    decoder_classes(
        "Mistral4",
        model,
        hidden=_hidden,
        heads=("ForSequenceClassification", "ForTokenClassification"),
    ),
    base="Mistral4Model",
    base_prefix="model",
    category="text decoder",
)
