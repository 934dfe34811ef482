"""InternLM (InternLM team 2023). No class in transformers. Source of shapes: modeling_internlm.py
in internlm/internlm-7b and internlm-20b.
"""

from functools import partial

from ..layers.decoders import SEQUENCE_HEAD, Decoder, with_frequencies

Decoder(
    "InternLM",
    vocab_size=103168,
    attention_bias=True,
    bias_key="bias",
    rotary=False,
    endings=SEQUENCE_HEAD,
    attention=partial(with_frequencies, dtype="F32", shown=True),
).register(
    "internlm",
    source="modeling_internlm.py of internlm/internlm-7b; checked against transformers' Llama",
)
