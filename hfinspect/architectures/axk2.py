"""A.X K2 (SK Telecom 2026; transformers/models/axk2). Latent attention with a sparse indexer; the
query's up-projection also makes the output's gate and reads a bottleneck of double width. Norms
before attention and experts carry a low-rank gate."""

from typing import Any

from ..layers.decoders import LABEL_HEADS, Decoder, adding, of_kind, pre_norm
from ..layers.latent import latent_sizes
from ..layers.latent_decoders import latent, routed
from ..trees import Component, Linear, ModelConfig, Module
from .axk1 import kinds

_SIZES = {"query_rank": 384, "kv_rank": 128, "plain": 64, "rotary": 32, "value": 64}


def _gated_norm(d: Decoder, c: ModelConfig, _kind: Any) -> Module:
    h = d.width(c)
    rank = c.dim("gated_norm_rank", default=16)
    down = Linear(h, rank, bias=False)
    up = Linear(rank, h, bias=False)
    block = Module("AXK2GatedRMSNorm", norm=d.norm(d, c, h), component=Component.NORM)
    return block.adding(W_down=down, W_up=up)


def _queries(d: Decoder, c: ModelConfig) -> Module:
    s = latent_sizes(c, heads=d.num_attention_heads, **_SIZES)
    assert s.query_rank  # the indexer refuses that
    width = s.heads * (s.plain + s.rotary + s.value)
    return Linear(2 * s.query_rank, width, bias=False, kind="query_up")


Decoder(
    "AXK2",
    tasks=LABEL_HEADS,
    moe=routed(512, 128, 8),
    kinds=kinds,
    attention=adding(latent(seeks=16, **_SIZES), q_b_proj=_queries),
    layer=adding(
        pre_norm,
        input_layernorm=_gated_norm,
        post_attention_layernorm=of_kind("sparse", _gated_norm),
    ),
).register("axk2")
