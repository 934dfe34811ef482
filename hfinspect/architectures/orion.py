"""Orion-14B (OrionStar 2024): Llama with LayerNorms. No class in transformers. Source of shapes:
modeling_orion.py in OrionStarAI/Orion-14B-Base; vLLM's orion.py reads the same names."""

from ..layers.decoders import SEQUENCE_HEAD, Decoder, layer_norms

Decoder("Orion", rotary=False, tasks=SEQUENCE_HEAD, norm=layer_norms("rms_norm_eps")).register(
    "orion", source="modeling_orion.py of OrionStarAI/Orion-14B-Base"
)
