"""Command A Vision (Cohere 2025): Aya Vision without the norm and with a much wider projector.
Source: transformers/models/cohere2_vision. File names: multimodal.py."""

from functools import partial

from .aya_vision import AYA, gated_projector

AYA.like(
    "Cohere2Vision",
    projector=partial(gated_projector, usual=36864),
    inside=True,
    vision_defaults={
        "hidden_size": 1152,
        "intermediate_size": 3072,
        "image_size": 512,
        "num_hidden_layers": 27,
        "num_attention_heads": 12,
    },
).register("cohere2_vision")
