"""A.X K2 (SK Telecom 2026). Source of shapes: transformers/models/axk2/modeling_axk2.py.

Latent attention with a sparse indexer; the query's up-projection also makes the output's gate and
reads a bottleneck of double width. Norms before attention and experts carry a low-rank gate.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, layer_types
from ..layers.experts import corrected_router, routed_and_shared
from ..layers.heads import decoder_classes
from ..layers.latent import latent_attention, latent_sizes
from ..trees.catalog import register
from ..trees.keeps import KeysValues
from ..trees.modules import Activation, Embedding, LayerNorm, Layers, Linear, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-6), class_name="AXK2RMSNorm")


def gated_norm(c: ModelConfig) -> Module:
    h, rank = _hidden(c), c.dim("gated_norm_rank", default=16)
    return Module(
        "AXK2GatedRMSNorm",
        norm=_norm(c, h),
        W_down=Linear(h, rank, bias=False),
        W_up=Linear(rank, h, bias=False),
        component=Component.NORM,
    )


def indexer(c: ModelConfig, query_rank: Dim) -> Module:
    """Scores which keys a query reads: few heads, one key for all of them."""
    heads = c.dim("index_n_heads", default=16)
    dim = c.dim("index_head_dim", default=128)
    return Module(
        "AXK2Indexer",
        wq_b=Linear(query_rank, heads * dim, bias=False),
        wk=Linear(_hidden(c), dim, bias=False),
        k_norm=LayerNorm(dim, eps=1e-6),
        weights_proj=Linear(_hidden(c), heads, bias=False),
        kind="indexer",
        keeps=(KeysValues(dim, 0, heads=1, name="indexer"),),
    )


def attention(c: ModelConfig) -> Module:
    bias = c.flag("attention_bias", default=False)
    sizes = latent_sizes(c, heads=32, query_rank=384, kv_rank=128, plain=64, rotary=32, value=64)
    if sizes.query_rank is None:
        raise c.error("q_lora_rank", None, "a rank")
    block = latent_attention("AXK2", _hidden(c), sizes, bias=bias)
    width = sizes.heads * (sizes.plain + sizes.rotary + sizes.value)
    up = Linear(2 * sizes.query_rank, width, bias=False, kind="query_up")
    block.children["q_b_proj"] = up
    block.children["indexer"] = indexer(c, sizes.query_rank)
    return block


def moe(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("moe_intermediate_size", default=512)
    count = c.count("n_routed_experts", "num_local_experts", default=128, minimum=1)
    return routed_and_shared(
        "AXK2",
        h,
        inner,
        count=count,
        per_token=c.count("num_experts_per_tok", default=8),
        shared=inner * c.count("n_shared_experts", default=1),
        gate=corrected_router("AXK2TopkRouter", h, count),
        act=c.text("hidden_act", default="silu"),
    )


def layer(c: ModelConfig, kind: str) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=5120)
    sparse, act = kind == "sparse", c.text("hidden_act", default="silu")
    return Module(
        "AXK2DecoderLayer",
        self_attn=attention(c),
        mlp=moe(c) if sparse else gated_mlp("AXK2MLP", h, inner, act=act),
        input_layernorm=gated_norm(c),
        post_attention_layernorm=gated_norm(c) if sparse else _norm(c, h),
    )


def layers(c: ModelConfig) -> Layers:
    dense = c.count("first_k_dense_replace", default=1)
    every = c.dim("moe_layer_freq", default=1)
    kinds = layer_types(
        c,
        c.count("num_hidden_layers", default=48),
        lambda i: "sparse" if i >= dense and i % every == 0 else "dense",
        key="mlp_layer_types",
    )
    built = {kind: layer(c, kind) for kind in set(kinds)}
    return Layers(built[kind] for kind in kinds)


def model(c: ModelConfig) -> Module:
    return Module(
        "AXK2Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=163840), _hidden(c)),
        layers=layers(c),
        norm=_norm(c, _hidden(c)),
        rotary_emb=Activation("AXK2RotaryEmbedding"),
    )


register(
    "axk2",
    decoder_classes(
        "AXK2", model, hidden=_hidden, heads=("ForSequenceClassification", "ForTokenClassification")
    ),
    base="AXK2Model",
    base_prefix="model",
    category="text decoder",
)
