"""openPangu Embedded 1B and 7B (Huawei 2025). No class in transformers. Source of shapes:
modeling_openpangu_dense.py in FreedomIntelligence/openPangu-Embedded-7B, and its index.

Llama's layers with biases on all four projections of attention (``bias``). Files hold the rotary
frequencies of each layer, in float32.
"""

from ..core.config import ModelConfig
from ..layers.decoders import Decoder, grouped
from ..trees.modules import Buffer, Module
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    block = grouped(d, c)
    block.children["rotary_emb"] = Module(
        "PanguEmbeddedRotaryEmbedding",
        inv_freq=Buffer(d.heads(c).dim // 2, dtype="F32"),
        saved=False,
    )
    return block


LLAMA.like(
    "PanguEmbedded",
    vocab_size=153376,
    intermediate_size=12800,
    num_hidden_layers=34,
    num_key_value_heads=8,
    rms_norm_eps=1e-05,
    attention_bias=True,
    bias_key="bias",
    mlp_bias=None,
    rotary=False,
    endings=(),
    attention=_attention,
).register(
    "PanguEmbedded", source="modeling_openpangu_dense.py and the index of openPangu-Embedded-7B"
)
