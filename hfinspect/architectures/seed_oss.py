"""Seed-OSS (ByteDance 2025; transformers/models/seed_oss). Biases on queries, keys and values, not
on the output; heads are wider in sum than the model."""

from ..layers.decoders import grouped
from .llama import LLAMA

LLAMA.like(
    "SeedOss",
    null_head_dim=True,
    attention=lambda d, c: grouped(
        d.like(d.name, out_bias=c.flag("attention_out_bias", default=False)), c
    ),
).register("seed_oss")
