"""LLaVA-NeXT-Video (Zhang et al. 2024). Source: transformers/models/llava_next_video.

LLaVA-NeXT whose patches of a frame are pooled, in one of three ways, of which one is learned. File
names and their other spellings: multimodal.py.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import Decoder, projector
from ..trees.modules import Activation, Conv, Module, Parameter, Weight
from .llava import LLAVA


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


LLAVA.like("LlavaNextVideo", beside=_pooler).register("llava_next_video")
