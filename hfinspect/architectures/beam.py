"""Beam. Source of shapes: transformers/models/beam/modeling_beam.py.

Attention with norms of queries and keys and a biased gate on its output; four norms in a layer;
three dense layers, then experts with a corrected router and none shared.
"""

from ..core.config import ModelConfig
from ..layers.decoders import Decoder, grouped, sandwich
from ..layers.experts import corrected_router
from ..layers.layer_kinds import mixture, words
from ..layers.windows import every, windows
from ..trees.modules import Linear, Module, Weight
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    heads = d.heads(c)
    gate = Linear(d.width(c), heads.query * heads.dim, bias=False, kind="gate")
    return grouped(d, c).adding(gate_proj=gate, gate_bias=Weight(heads.query, kind="gate"))


def _moe(d: Decoder, c: ModelConfig) -> Module:
    inner = c.dim("moe_intermediate_size", default=2560)
    count = c.count("num_experts", default=256, minimum=1)
    gate = corrected_router("BeamTopKRouter", d.width(c), count)
    return mixture(d, c, inner, count, c.count("num_experts_per_tok", default=8), gate=gate)


LLAMA.like(
    "Beam", vocab_size=151936, hidden_size=5120, intermediate_size=20480, num_hidden_layers=52,
    num_attention_heads=48, num_key_value_heads=8, head_dim=128, mlp_bias=None, qk_norm=True,
    windows=lambda c: windows(c, 512, every(6, last=True)), endings=(), moe=_moe, layer=sandwich,
    kinds=words(lambda _c, i: "dense" if i < 3 else "sparse", key="mlp_layer_types"),
    attention=_attention,
).register("beam")  # fmt: skip
