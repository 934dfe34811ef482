"""LLaVA-OneVision (Li et al. 2024; transformers/models/llava_onevision): SigLIP and Qwen2."""

from .llava import LLAVA, newline

#: SigLIP, without its last layer and its pooling.
SO400M = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "patch_size": 14,
    "image_size": 384,
    "num_hidden_layers": 26,
    "num_attention_heads": 16,
    "vision_use_head": False,
}

LLAVA.like(
    "LlavaOnevision",
    vision="siglip_vision_model",
    vision_defaults=SO400M,
    text="qwen2",
    beside=newline,
).register("llava_onevision")
