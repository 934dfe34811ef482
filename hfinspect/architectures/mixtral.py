"""Mixtral (Jiang et al. 2024). Source of shapes: transformers/models/mixtral/modeling_mixtral.py.

A Llama-like decoder whose MLP is a router and n experts, which transformers fuses in memory.
"""

from ..core.config import ModelConfig
from ..layers import mixtures as m
from ..layers.blocks import grouped_attention, grouped_heads
from ..layers.decoders import Decoder, block_sparse
from ..layers.windows import windows
from ..trees.modules import Module
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    heads = grouped_heads(c.with_defaults(num_key_value_heads=8), d.width(c), heads=32)
    return grouped_attention("MixtralAttention", d.width(c), heads)


LLAMA.like(
    "Mixtral", intermediate_size=14336, rms_norm_eps=1e-05, attention_bias=None, mlp_bias=None,
    windows=lambda c: windows(c, None), rotary=False, qa_prefix=None, attention=_attention,
    moe=m.mixtral(m.counts("num_local_experts", "num_experts", default=8), 2), layer=block_sparse,
).register("mixtral")  # fmt: skip
