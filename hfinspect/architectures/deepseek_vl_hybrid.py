"""DeepSeek-VL (Lu et al. 2024), the larger model. Source: transformers/models/deepseek_vl_hybrid.

DeepSeek-VL with a second tower, SAM's, for images of a higher resolution.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import Decoder, Joined, nested, projector
from ..trees.catalog import auto_model
from ..trees.modules import Activation, Conv, LayerNorm, Linear, Module, Parameter, Weight

_NAME = "DeepseekVLHybrid"


def _fine(c: ModelConfig) -> ModelConfig:
    return nested(c, "high_res_vision_config").read_as("sam_vision_model")


def _out(c: ModelConfig) -> Dim:
    return _fine(c).dim("output_channels", default=256)


def _norm(size: Dim) -> Module:
    return LayerNorm(size, eps=1e-6, class_name=f"{_NAME}LayerNorm")


def _high(c: ModelConfig, _w: Dim, _t: Decoder) -> dict[str, Module | Parameter | None]:
    h, out = _fine(c).dim("hidden_size", default=768), _out(c)
    neck = Module(
        "DeepseekVLSamVisionNeck",
        conv1=Conv(h, out, 1, bias=False),
        layer_norm1=_norm(out),
        conv2=Conv(out, out, 3, bias=False),
        layer_norm2=_norm(out),
        part="vision",
    )
    proj = Module(
        "DeepseekVLSamVisionProj",
        conv1=Conv(out, out * 2, 3, bias=False, stride=2, component=Component.PROJECTOR),
        conv2=Conv(out * 2, out * 4, 3, bias=False, stride=2, component=Component.PROJECTOR),
        part="vision",
    )
    return {
        "high_res_vision_model": auto_model(
            _fine(c), default_type="sam_vision_model", part="vision"
        ),
        "high_res_vision_neck": neck,
        "high_res_vision_proj": proj,
        "high_res_vision_alpha": Weight(1, kind="scale"),
    }


def _aligner(_j: Joined, c: ModelConfig, width: Dim, text: Dim) -> Module:
    half = text // 2
    return projector(
        f"{_NAME}Aligner",
        vision_proj=Linear(width, half),
        high_res_vision_proj=Linear(_out(c) * 4, half),
        act=Activation("GELU"),
        proj=Linear(text, text),
    )


Joined(
    _NAME, "siglip_vision_model", "llama", projector=_aligner, towers=("vision_model",),
    project="aligner", beside=_high, inside=True,
).register("deepseek_vl_hybrid")  # fmt: skip
