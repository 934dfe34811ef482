"""Orion-14B (OrionStar 2024): Llama with LayerNorms. No class in transformers. Source of shapes:
modeling_orion.py in OrionStarAI/Orion-14B-Base; vLLM's orion.py reads the same names."""

from ..layers.decoders import SEQUENCE_HEAD, Decoder, layer_norms

Decoder(
    "Orion",
    vocab_size=84608,
    intermediate_size=15360,
    num_hidden_layers=40,
    num_attention_heads=40,
    rms_norm_eps=1e-05,
    rotary=False,
    endings=SEQUENCE_HEAD,
    norm=layer_norms("rms_norm_eps"),
).register("orion", source="modeling_orion.py of OrionStarAI/Orion-14B-Base")
