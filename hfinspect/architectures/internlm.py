"""InternLM (InternLM team 2023): Llama with biases, and files that hold rotary frequencies."""

from functools import partial

from ..layers.decoders import SEQUENCE_HEAD, Decoder, with_frequencies

INTERNLM = Decoder(
    "InternLM",
    bias_key="bias",
    rotary=False,
    tasks=SEQUENCE_HEAD,
    attention=partial(with_frequencies, dtype="F32", shown=True),
).register(
    "internlm",
    source="modeling_internlm.py of internlm/internlm-7b; checked against transformers' Llama",
)
