"""Command A Vision (Cohere 2025): Aya Vision without the norm and with a much wider projector.
Source: transformers/models/cohere2_vision. File names: multimodal.py."""

from functools import partial

from ..trees import config_defaults
from .aya_vision import AYA, gated_projector

AYA.like(
    "Cohere2Vision",
    projector=partial(gated_projector, usual=36864),
    inside=True,
    vision_defaults=config_defaults("cohere2_vision"),
).register("cohere2_vision")
