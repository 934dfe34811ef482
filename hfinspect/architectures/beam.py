"""Beam. Source of shapes: transformers/models/beam/modeling_beam.py.

Attention with norms of queries and keys and a biased gate on its output; four norms in a layer;
three dense layers, then experts with a corrected router and none shared.
"""

from ..core.config import ModelConfig
from ..layers.blocks import layer_types
from ..layers.decoders import Decoder, grouped, sandwich
from ..layers.experts import corrected_router, routed_and_shared
from ..layers.windows import every, windows
from ..trees.modules import Linear, Module, Weight
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    block, heads = grouped(d, c), d.heads(c)
    width = heads.query * heads.dim
    block.children["gate_proj"] = Linear(d.width(c), width, bias=False, kind="gate")
    block.children["gate_bias"] = Weight(heads.query, kind="gate")
    return block


def _moe(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    count = c.count("num_experts", default=256, minimum=1)
    return routed_and_shared(
        "Beam",
        h,
        c.dim("moe_intermediate_size", default=2560),
        count=count,
        per_token=c.count("num_experts_per_tok", default=8),
        shared=None,
        gate=corrected_router("BeamTopKRouter", h, count),
        act=d.act(c),
    )


LLAMA.like(
    "Beam",
    vocab_size=151936,
    hidden_size=5120,
    intermediate_size=20480,
    num_hidden_layers=52,
    num_attention_heads=48,
    num_key_value_heads=8,
    head_dim=128,
    mlp_bias=None,
    qk_norm=True,
    windows=lambda c: windows(c, 512, every(6, last=True)),
    endings=(),
    moe=_moe,
    kinds=lambda _d, c, layers: layer_types(
        c, layers, lambda i: "dense" if i < 3 else "sparse", key="mlp_layer_types"
    ),
    layer=sandwich,
    attention=_attention,
).register("beam")
