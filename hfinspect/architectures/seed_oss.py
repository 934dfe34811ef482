"""Seed-OSS (ByteDance 2025; transformers/models/seed_oss). Biases on queries, keys and values, not
on the output; heads are wider in sum than the model."""

from ..layers.decoders import grouped
from .llama import LLAMA

LLAMA.like(
    "SeedOss",
    vocab_size=155136,
    intermediate_size=27648,
    num_hidden_layers=64,
    num_attention_heads=80,
    num_key_value_heads=8,
    head_dim=128,
    null_head_dim=True,
    attention_bias=True,
    attention=lambda d, c: grouped(
        d.like(d.name, out_bias=c.flag("attention_out_bias", default=False)), c
    ),
).register("seed_oss")
