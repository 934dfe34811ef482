"""XVERSE 7B, 13B and 65B (XVERSE 2023). No class in transformers. Source of shapes:
modeling_xverse.py in xverse/XVERSE-13B.

Llama's block with as many key heads as query heads.
"""

from ..core.config import ModelConfig
from ..errors import UnknownArchitectureError
from ..layers.blocks import Heads, grouped_attention
from ..layers.decoders import Decoder
from ..trees.modules import Buffer, Module
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    if c.has("num_experts"):
        raise UnknownArchitectureError(
            "an xverse config with num_experts (XVERSE-MoE)", "is not in the catalog",
            where=c.path or None, hint="a checkpoint's headers are read without the catalog",
        )  # fmt: skip
    h = d.width(c)
    count = c.dim("num_attention_heads", default=40)
    head = c.divided(h, count, "hidden_size", "num_attention_heads")
    block = grouped_attention("XverseAttention", h, Heads(count, count, head))
    block.children["rotary_emb"] = Module(
        "XverseRotaryEmbedding", inv_freq=Buffer(head // 2, dtype="F32", saved=False)
    )
    return block


LLAMA.like(
    "Xverse",
    vocab_size=100278,
    hidden_size=5120,
    intermediate_size=13824,
    num_hidden_layers=40,
    num_attention_heads=40,
    attention_bias=None,
    mlp_bias=None,
    rotary=False,
    endings=(),
    attention=_attention,
).register(
    "xverse", source="modeling_xverse.py of xverse/XVERSE-13B; checked against transformers' Llama"
)
