"""XVERSE 7B, 13B and 65B (XVERSE 2023): Llama without grouped keys."""

from ..layers.decoders import Decoder, with_frequencies
from ..trees import ModelConfig, Module


def _attention(d: Decoder, c: ModelConfig) -> Module:
    if c.has("num_experts"):
        raise c.uncatalogued("an xverse config with num_experts (XVERSE-MoE)")
    c.divided(d.width(c), d.size(c, key := "num_attention_heads"), "hidden_size", key)
    unread = c.with_values(num_key_value_heads=None, head_dim=None)
    return with_frequencies(d, unread, dtype="F32", shown=True)


Decoder("Xverse", attention_bias=None, rotary=False, tasks=(), attention=_attention).register(
    "xverse", source="modeling_xverse.py of xverse/XVERSE-13B; checked against transformers' Llama"
)
