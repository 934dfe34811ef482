"""InternLM (InternLM team 2023). No class in transformers. Source of shapes: modeling_internlm.py
in internlm/internlm-7b and internlm-20b.

Llama's block, with biases on all four attention matrices in the 7B (``bias``).
"""

from ..core.config import ModelConfig
from ..layers.decoders import SEQUENCE_HEAD, Decoder, grouped
from ..trees.modules import Buffer, Module
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    block = grouped(d, c)
    block.children["rotary_emb"] = Module(
        "InternLMRotaryEmbedding", inv_freq=Buffer(d.heads(c).dim // 2, dtype="F32", saved=False)
    )
    return block


LLAMA.like(
    "InternLM",
    vocab_size=103168,
    attention_bias=True,
    bias_key="bias",
    mlp_bias=None,
    rotary=False,
    endings=SEQUENCE_HEAD,
    attention=_attention,
).register(
    "internlm",
    source="modeling_internlm.py of internlm/internlm-7b; checked against transformers' Llama",
)
