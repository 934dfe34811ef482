"""Yi 6B and 34B under their first class (01.AI 2023; since then released as Llama)."""

from ..layers.decoders import SEQUENCE_HEAD, Decoder, mixed

_NAMES = {"input_layernorm": "ln1", "post_attention_layernorm": "ln2"}

Decoder(
    "Yi",
    attention_bias=None,
    rotary=False,
    tasks=SEQUENCE_HEAD,
    layer=lambda d, c, kind: mixed(d, c, d.attention(d, c), kind, **_NAMES),
).register("Yi", source="modeling_yi.py of 01-ai/Yi-6B; checked against transformers' Llama")
