"""LLaVA-NeXT-Video (Zhang et al. 2024): LLaVA-NeXT whose patches of a frame are pooled, in one of
three ways, of which one is learned. Source: transformers/models/llava_next_video."""

from ..layers.multimodal import TextModel, projector
from ..trees import Activation, Conv, Dim, ModelConfig, Module, Parameter
from .llava import LLAVA, newline


def _pooler(c: ModelConfig, width: Dim, text: TextModel) -> dict[str, Module | Parameter | None]:
    mode = c.word("spatial_pool_mode", "average", "max", "conv")
    stride = c.dim("spatial_pool_stride", default=2)
    out = c.dim("spatial_pool_out_channels", default=width)
    pools = {"average": Activation("AvgPool2d"), "max": Activation("MaxPool2d")}
    pool = pools.get(mode) or Conv(width, out, stride, stride=stride, component=None)
    resampler = projector("LlavaNextVideoPooler", pool=pool)
    # The one part that files keep where it is in memory.
    model = Module("LlavaNextVideoModel", vision_resampler=resampler)
    return {**newline(c, width, text), "model": model}


LLAVA.like("LlavaNextVideo", beside=_pooler).register("llava_next_video")
