"""Yi 6B and 34B under their first class (01.AI 2023; since then released as Llama). No class in
transformers. Source of shapes: modeling_yi.py in 01-ai/Yi-6B.
"""

from ..core.config import ModelConfig
from ..layers.decoders import SEQUENCE_HEAD, Decoder, mixed
from ..trees.modules import Module


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    names = {"input_layernorm": "ln1", "post_attention_layernorm": "ln2"}
    return mixed(d, c, d.attention(d, c), kind, **names)


Decoder(
    "Yi",
    vocab_size=64000,
    num_key_value_heads=4,
    rms_norm_eps=1e-05,
    attention_bias=None,
    rotary=False,
    endings=SEQUENCE_HEAD,
    layer=_layer,
).register("Yi", source="modeling_yi.py of 01-ai/Yi-6B; checked against transformers' Llama")
