"""LLaVA-NeXT-Video (Zhang et al. 2024). Source: transformers/models/llava_next_video.

LLaVA-NeXT whose patches of a frame are pooled, in one of three ways, of which one is learned. File
names and their other spellings: multimodal.py.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import Decoder, Joined, projector, register_joined, two_layer_projector
from ..trees.modules import Activation, Conv, Module, Parameter, Weight
from .llava import CLIP_L


def _projector(c: ModelConfig, width: Dim, text: Dim) -> Module:
    bias = c.flag("multimodal_projector_bias", default=True)
    return two_layer_projector("LlavaNextVideoMultiModalProjector", c, width, text, bias=bias)


def _pooler(c: ModelConfig, width: Dim, text: Decoder) -> dict[str, Module | Parameter | None]:
    mode, stride = (
        c.text("spatial_pool_mode", default="average"),
        c.dim("spatial_pool_stride", default=2),
    )
    pools = {"average": Activation("AvgPool2d"), "max": Activation("MaxPool2d")}
    if mode != "conv" and mode not in pools:
        raise c.error("spatial_pool_mode", mode, "average, max or conv")
    out = c.dim("spatial_pool_out_channels", default=width)
    pool = pools.get(mode or "") or Conv(width, out, stride, stride=stride, component=None)
    resampler = projector("LlavaNextVideoPooler", pool=pool)
    return {
        "image_newline": Weight(text.hidden, component=Component.EMBEDDING),
        # The one part that files keep where it is in memory.
        "model": Module("LlavaNextVideoModel", vision_resampler=resampler),
    }


register_joined(
    "llava_next_video",
    Joined(
        "LlavaNextVideo",
        _projector,
        "clip_vision_model",
        "llama",
        vision_defaults=CLIP_L,
        tied=False,
        text_ties=True,
        beside=_pooler,
    ),
    inside=False,
)
