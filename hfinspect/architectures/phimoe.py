"""Phi-3.5-MoE (Microsoft 2024). Source of shapes: transformers/models/phimoe.

Mixtral's expert layout with LayerNorms that have biases, and optional biases in attention and head.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads
from ..layers.experts import experts, router
from ..layers.heads import causal_lm, sequence_classification
from ..layers.windows import windows
from ..trees.catalog import register
from ..trees.modules import Embedding, LayerNorm, Layers, Linear, Module


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("rms_norm_eps", default=1e-5))


def expert(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=6400)
    return Module(
        "PhimoeBlockSparseTop2MLP",
        w1=Linear(h, inner, bias=False),
        w2=Linear(inner, h, bias=False),
        w3=Linear(h, inner, bias=False),
        act_fn=activation(c.text("hidden_act", default="silu")),
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    count = c.count("num_local_experts", default=16)
    return Module(
        "PhimoeDecoderLayer",
        self_attn=grouped_attention(
            "PhimoeAttention",
            h,
            grouped_heads(c, h, heads=32, kv=8),
            bias=c.flag("attention_bias", default=False),
        ),
        block_sparse_moe=Module(
            "PhimoeSparseMoeBlock",
            gate=router("PhimoeTopKRouter", h, count),
            experts=experts(count, c.dim("num_experts_per_tok", default=2), expert(c)),
            component=Component.MLP,
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "PhimoeModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32064), _hidden(c)),
        layers=Layers.of(
            c.count("num_hidden_layers", default=32), layer(c), windows=windows(c, None)
        ),
        norm=_norm(c),
    )


def _causal(c: ModelConfig) -> Module:
    bias = c.flag("lm_head_bias", default=False)
    return causal_lm("PhimoeForCausalLM", model, bias=bias)(c)


register(
    "phimoe",
    {
        "PhimoeForCausalLM": _causal,
        "PhimoeModel": model,
        "PhimoeForSequenceClassification": sequence_classification(
            "PhimoeForSequenceClassification", model, hidden=_hidden
        ),
        # The repo's own code spells the class so.
        "PhiMoEForCausalLM": _causal,
    },
    base="PhimoeModel",
    base_prefix="model",
    category="text decoder",
)
