"""Command A Vision (Cohere 2025): Aya Vision without the norm and with a much wider projector.
Source: transformers/models/cohere2_vision. File names: multimodal.py."""

from functools import partial

from .aya_vision import AYA, gated_projector

#: What Cohere2VisionConfig makes of an absent vision_config.
_VISION = {
    "hidden_size": 1152, "intermediate_size": 3072, "image_size": 512, "num_hidden_layers": 27,
    "num_attention_heads": 12,
}  # fmt: skip
AYA.like(
    "Cohere2Vision", projector=partial(gated_projector, usual=36864), vision_defaults=_VISION,
    inside=True,
).register("cohere2_vision")  # fmt: skip
