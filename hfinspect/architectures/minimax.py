"""MiniMax-01 (MiniMax 2025). Source of shapes: transformers/models/minimax.

Softmax and lightning (linear) attention by turns; Mixtral's expert layout.  The decays of
lightning attention are buffers that are saved.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, activation, grouped_attention, layer_types
from ..layers.experts import experts, router
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.keeps import State
from ..trees.modules import Buffer, Embedding, Layers, Linear, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(
        _hidden(c), eps=c.number("rms_norm_eps", default=1e-5), class_name="MiniMaxRMSNorm"
    )


def _heads(c: ModelConfig) -> Heads:
    query = c.dim("num_attention_heads", default=32)
    absent = "num_key_value_heads" not in c.values
    kv = c.dim("num_key_value_heads", default=8 if absent else query)
    if c.raw("head_dim") in (None, 0):  # as in the model: null and 0 mean hidden / heads
        return Heads(query, kv, _hidden(c) // query)
    return Heads(query, kv, c.dim("head_dim"))


def lightning_attention(c: ModelConfig) -> Module:
    h, heads = _hidden(c), _heads(c)
    width, block = heads.query * heads.dim, c.dim("block_size", default=256)
    return Module(
        "MiniMaxLightningAttention",
        norm=RMSNorm(width, class_name="MiniMaxRMSNorm"),
        qkv_proj=Linear(h, width * 3, bias=False, kind="qkv"),
        out_proj=Linear(width, h, bias=False, kind="output"),
        output_gate=Linear(h, width, bias=False, kind="gate"),
        act_fn=activation(c.text("hidden_act", default="silu")),
        slope_rate=Buffer(heads.query, 1, 1),
        query_decay=Buffer(heads.query, block, 1),
        key_decay=Buffer(heads.query, block, 1),
        diagonal_decay=Buffer(1, heads.query, block, block),
        component=Component.SSM,
        keeps=(State("recurrent", (width, heads.dim)),),
    )


def expert(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=14336)
    return Module(
        "MiniMaxBlockSparseTop2MLP",
        w1=Linear(h, inner, bias=False),
        w2=Linear(inner, h, bias=False),
        w3=Linear(h, inner, bias=False),
        act_fn=activation(c.text("hidden_act", default="silu")),
    )


def layer(c: ModelConfig, kind: str) -> Module:
    h = _hidden(c)
    count = c.count("num_local_experts", "num_experts", default=8)
    linear = kind == "linear_attention"
    return Module(
        "MiniMaxDecoderLayer",
        self_attn=lightning_attention(c)
        if linear
        else grouped_attention("MiniMaxAttention", h, _heads(c)),
        block_sparse_moe=Module(
            "MiniMaxSparseMoeBlock",
            gate=router("MiniMaxTopKRouter", h, count),
            experts=experts(count, c.dim("num_experts_per_tok", default=2), expert(c)),
            component=Component.MLP,
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    types = layer_types(
        c,
        c.count("num_hidden_layers", default=32),
        lambda i: "linear_attention" if i % 2 else "full_attention",
    )
    distinct = {kind: layer(c, kind) for kind in dict.fromkeys(types)}
    return Module(
        "MiniMaxModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
        layers=Layers(distinct[kind] for kind in types),
        norm=_norm(c),
    )


register(
    "minimax",
    decoder_classes("MiniMax", model, hidden=_hidden),
    base="MiniMaxModel",
    base_prefix="model",
    category="text decoder",
)
