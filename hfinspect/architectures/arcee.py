"""Arcee AFM (Arcee AI 2025; transformers/models/arcee): Llama with an MLP of two matrices."""

from ..layers.decoders import up_down
from .llama import LLAMA

LLAMA.like(
    "Arcee",
    hidden_size=2560,
    intermediate_size=18432,
    rms_norm_eps=1e-05,
    hidden_act="relu2",
    mlp=up_down,
).register("arcee")
