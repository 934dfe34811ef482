"""MiniMax-Text-01 and MiniMax-M1 (MiniMax 2025) as released; transformers' ``minimax`` is the
converted form of the first. Source of shapes: modeling_minimax_m1.py in MiniMaxAI/MiniMax-M1-80k,
and the index of that repo.

Softmax and lightning (linear) attention as ``attn_type_list`` says, 1 and 0; Mixtral's expert
layout.
"""

from __future__ import annotations

from collections.abc import Callable

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads
from ..layers.experts import experts, router
from ..layers.heads import causal_lm
from ..trees.catalog import Builder, register
from ..trees.modules import Embedding, Layers, Linear, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(name: str, c: ModelConfig, size: int) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(size, eps=eps, class_name=f"{name}RMSNorm")


def lightning_attention(name: str, c: ModelConfig) -> Module:
    """5·H·(h·d) weights and a norm over all heads: every head has keys and values of its own."""
    h, heads = _hidden(c), grouped_heads(c, _hidden(c), heads=32, kv=8)
    width = heads.query * heads.dim
    return Module(
        f"{name}LightningAttention",
        out_proj=Linear(width, h, bias=False, kind="output"),
        norm=_norm(name, c, width),
        qkv_proj=Linear(h, width * 3, bias=False, kind="qkv"),
        output_gate=Linear(h, width, bias=False, kind="gate"),
        component=Component.SSM,
    )


def _experts(name: str, c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=14336)
    shared = c.raw("shared_intermediate_size")
    if shared not in (None, 0):
        raise c.error("shared_intermediate_size", shared, "0, as in every published model")
    count = c.count("num_local_experts", default=8)
    expert = Module(
        f"{name}BlockSparseTop2MLP",
        w1=Linear(h, inner, bias=False),
        w2=Linear(inner, h, bias=False),
        w3=Linear(h, inner, bias=False),
        act_fn=activation(c.text("hidden_act", default="silu")),
    )
    return Module(
        f"{name}SparseMoeBlock",
        gate=router("Linear", h, count),
        experts=experts(count, c.dim("num_experts_per_tok", default=2), expert),
        component=Component.MLP,
    )


def layer(name: str, c: ModelConfig, *, softmax: bool) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32, kv=8)
    attention = grouped_attention(f"{name}Attention", h, heads) if softmax else None
    return Module(
        f"{name}DecoderLayer",
        self_attn=attention or lightning_attention(name, c),
        block_sparse_moe=_experts(name, c),
        input_layernorm=_norm(name, c, h),
        post_attention_layernorm=_norm(name, c, h),
    )


def _base(name: str) -> Builder:
    def build(c: ModelConfig) -> Module:
        count = int(c.count("num_hidden_layers", default=32))
        softmax = c.flags("attn_type_list", default=[True] * count)
        if len(softmax) < count:
            raise c.error("attn_type_list", list(softmax), f"one entry for each of {count} layers")
        softmax = softmax[:count]
        kinds = {kind: layer(name, c, softmax=kind) for kind in dict.fromkeys(softmax)}
        return Module(
            f"{name}Model",
            embed_tokens=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
            layers=Layers(kinds[kind] for kind in softmax),
            norm=_norm(name, c, _hidden(c)),
        )

    return build


def _classes(name: str) -> dict[str, Callable[[ModelConfig], Module]]:
    causal = f"{name}ForCausalLM"
    return {
        causal: causal_lm(causal, _base(name), tied_default=False),
        f"{name}Model": _base(name),
    }


_SOURCE = "modeling_minimax_m1.py and the index of MiniMaxAI/MiniMax-M1-80k"

register(
    "minimax_m1",
    _classes("MiniMaxM1"),
    base="MiniMaxM1Model",
    base_prefix="model",
    category="text decoder",
    source=_SOURCE,
)
register(
    "minimax_text_01",
    _classes("MiniMaxText01"),
    base="MiniMaxText01Model",
    base_prefix="model",
    category="text decoder",
    source=_SOURCE,
)
