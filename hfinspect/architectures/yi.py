"""Yi 6B and 34B under their first class (01.AI 2023; since then released as Llama)."""

from ..layers.decoders import SEQUENCE_HEAD, Decoder, mixed

_NAMES = {"input_layernorm": "ln1", "post_attention_layernorm": "ln2"}

Decoder(
    "Yi",
    vocab_size=64000,
    num_key_value_heads=4,
    rms_norm_eps=1e-05,
    attention_bias=None,
    rotary=False,
    endings=SEQUENCE_HEAD,
    layer=lambda d, c, kind: mixed(d, c, d.attention(d, c), kind, **_NAMES),
).register("Yi", source="modeling_yi.py of 01-ai/Yi-6B; checked against transformers' Llama")
