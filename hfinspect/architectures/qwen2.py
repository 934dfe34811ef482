"""Qwen2 and Qwen1.5 (Yang et al. 2024). Source: transformers/models/qwen2/modeling_qwen2.py.

Llama's block with biases on q, k and v alone.
"""

from ..core.config import ModelConfig
from ..layers.blocks import grouped_attention
from ..layers.decoders import Decoder
from ..layers.windows import switched_windows
from ..trees.modules import Module
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    heads = d.heads(c)
    return grouped_attention(f"{d.name}Attention", d.width(c), heads, bias=True, out_bias=False)


QWEN2 = LLAMA.like(
    "Qwen2",
    vocab_size=151936,
    intermediate_size=22016,
    num_key_value_heads=32,
    attention=_attention,
    mlp_bias=None,
    windows=lambda c: switched_windows(c, 4096, 28),
).register("qwen2")
