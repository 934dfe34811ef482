"""Nemotron-4 (NVIDIA 2024; transformers/models/nemotron): LayerNorms, an MLP of two matrices."""

from ..layers.decoders import layer_norms, up_down
from .llama import LLAMA

LLAMA.like(
    "Nemotron", mlp=up_down, norm=layer_norms("norm_eps", class_name="NemotronLayerNorm1P")
).register("nemotron")
