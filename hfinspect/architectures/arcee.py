"""Arcee AFM (Arcee AI 2025; transformers/models/arcee): Llama with an MLP of two matrices."""

from ..layers.decoders import up_down
from .llama import LLAMA

LLAMA.like("Arcee", mlp=up_down).register("arcee")
