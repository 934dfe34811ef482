"""Jais 2 (MBZUAI, Inception 2025; transformers/models/jais2): biases everywhere, LayerNorms."""

from ..layers.decoders import Decoder, layer_norms, up_down

Decoder("Jais2", rotary=False, tasks=(), mlp=up_down, norm=layer_norms("layer_norm_eps")).register(
    "jais2"
)
