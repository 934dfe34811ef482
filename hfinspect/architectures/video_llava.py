"""Video-LLaVA (Lin et al. 2023). Source: transformers/models/video_llava/modeling_video_llava.py.

LLaVA with one tower for images and one for videos. File names: multimodal.py.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import Joined, register_joined, two_layer_projector
from ..trees.modules import Module
from .llava import CLIP_L


def _projector(c: ModelConfig, width: Dim, text: Dim) -> Module:
    bias = c.flag("multimodal_projector_bias", default=True)
    return two_layer_projector("VideoLlavaMultiModalProjector", c, width, text, bias=bias)


register_joined(
    "video_llava",
    Joined(
        "VideoLlava",
        _projector,
        "clip_vision_model",
        "llama",
        vision_defaults={**CLIP_L, "image_size": 224},
        tied=False,
        towers=("video_tower", "image_tower"),
    ),
    inside=False,
)
