"""Doge (SmallDoge 2025; transformers/models/doge). A mask learned from the values (``A``,
``dt_proj``) and, where ``is_moe``, a dense MLP plus experts of one row, found by product keys."""

import math

from ..layers.decoders import Decoder, arranged, attends, feeds, gated, grouped, normed
from ..trees import Component, Embedding, Linear, ModelConfig, Module, Parameter, Weight, named


def _attention(d: Decoder, c: ModelConfig) -> Module:
    heads = d.heads(c)
    bias = c.flag("attention_bias", default=False)
    steps = Linear(heads.kv * heads.dim, heads.kv, bias=bias)
    return grouped(d, c).adding(A=Weight(heads.kv), dt_proj=steps)


def _scale(d: Decoder, c: ModelConfig, _kind: str) -> Parameter:
    return Weight(d.width(c), kind="scale")


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    """Cross-domain mixture: n experts of two rows, chosen by the best of √n keys, twice."""
    block = gated(d, c)
    if not c.flag("is_moe", default=False):
        return block
    h = d.width(c)
    count = c.dim("num_experts", default=16384)
    keys = named(math.isqrt(count), "num_keys", "square root of num_experts, rounded down")
    active = (min(int(c.dim("num_experts_per_tok", default=64)), int(count)), int(count))
    gate = Linear(h, keys * 2, bias=False, component=Component.ROUTER)
    table = Embedding(count, h, component=None, kind="expert")
    table.active = active
    return block.called("DogeCDMoE").adding(router_gate=gate, down_embed=table, up_embed=table)


Decoder(
    "Doge",
    qk_norm=True,
    tasks=("ForSequenceClassification",),
    attention=_attention,
    mlp=_mlp,
    layer=arranged(
        input_layernorm=normed,
        self_attn=attends,
        input_residual=_scale,
        post_attention_layernorm=normed,
        mlp=feeds,
        post_attention_residual=_scale,
    ),
).register("doge")
