"""Yi 6B and 34B under their first class (01.AI 2023; since then released as Llama). No class in
transformers. Source of shapes: modeling_yi.py in 01-ai/Yi-6B.

Llama's block, the two norms called ``ln1`` and ``ln2``.
"""

from ..core.config import ModelConfig
from ..layers.decoders import SEQUENCE_HEAD, Decoder
from ..trees.modules import Module
from .llama import LLAMA


def _layer(d: Decoder, c: ModelConfig, _kind: str) -> Module:
    return Module(
        "YiDecoderLayer",
        self_attn=d.attention(d, c),
        mlp=d.mlp(d, c),
        ln1=d.norm(d, c, d.width(c)),
        ln2=d.norm(d, c, d.width(c)),
    )


LLAMA.like(
    "Yi",
    vocab_size=64000,
    num_key_value_heads=4,
    rms_norm_eps=1e-05,
    attention_bias=None,
    mlp_bias=None,
    rotary=False,
    endings=SEQUENCE_HEAD,
    layer=_layer,
).register("Yi", source="modeling_yi.py of 01-ai/Yi-6B; checked against transformers' Llama")
