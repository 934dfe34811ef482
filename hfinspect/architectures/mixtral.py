"""Mixtral (Jiang et al. 2024). Source of shapes: transformers/models/mixtral/modeling_mixtral.py.

A Llama-like decoder whose MLP is a router and n experts; k of them serve a token. transformers
fuses the experts in memory; files hold w1 (gate), w3 (up) and w2 (down) of each.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads
from ..layers.experts import experts, router
from ..layers.heads import decoder_classes
from ..layers.windows import windows
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Linear, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(
        _hidden(c), eps=c.number("rms_norm_eps", default=1e-5), class_name="MixtralRMSNorm"
    )


def expert(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=14336)
    return Module(
        "MixtralBlockSparseTop2MLP",
        w1=Linear(h, inner, bias=False),
        w2=Linear(inner, h, bias=False),
        w3=Linear(h, inner, bias=False),
        act_fn=activation(c.text("hidden_act", default="silu")),
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    count = c.count("num_local_experts", "num_experts", default=8)
    return Module(
        "MixtralDecoderLayer",
        self_attn=grouped_attention("MixtralAttention", h, grouped_heads(
            c.with_defaults(num_key_value_heads=8), h, heads=32)),
        block_sparse_moe=Module(
            "MixtralSparseMoeBlock",
            gate=router("MixtralTopKRouter", h, count),
            experts=experts(count, c.dim("num_experts_per_tok", default=2), expert(c)),
            component=Component.MLP,
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )  # fmt: skip


def model(c: ModelConfig) -> Module:
    return Module(
        "MixtralModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
        layers=Layers.of(
            c.count("num_hidden_layers", default=32), layer(c), windows=windows(c, None)
        ),
        norm=_norm(c),
    )


register(
    "mixtral",
    decoder_classes("Mixtral", model, hidden=_hidden),
    base="MixtralModel",
    base_prefix="model",
    category="text decoder",
)
