"""LLaVA-OneVision (Li et al. 2024; transformers/models/llava_onevision): SigLIP and Qwen2."""

from ..trees import config_defaults
from .llava import LLAVA, newline

#: SigLIP, without its last layer and its pooling.
SO400M = config_defaults("llava_onevision")

LLAVA.like(
    "LlavaOnevision",
    vision="siglip_vision_model",
    vision_defaults=SO400M,
    text="qwen2",
    beside=newline,
).register("llava_onevision")
