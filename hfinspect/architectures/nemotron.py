"""Nemotron-4 (NVIDIA 2024; transformers/models/nemotron). Layer norms with bias (and 1 added to the
weight), a plain two-matrix MLP with squared ReLU."""

from ..layers.decoders import Decoder, up_down
from ..trees import LayerNorm, ModelConfig, Module
from .llama import LLAMA


def _norm(_d: Decoder, c: ModelConfig, size: int) -> Module:
    eps = c.number("norm_eps", default=1e-5)
    return LayerNorm(size, eps=eps, class_name="NemotronLayerNorm1P")


LLAMA.like(
    "Nemotron", vocab_size=256000, hidden_size=6144, intermediate_size=24576,
    num_attention_heads=48, hidden_act="relu2", mlp=up_down, norm=_norm,
).register("nemotron")  # fmt: skip
