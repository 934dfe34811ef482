"""LightOnOCR (LightOn 2025). Source: transformers/models/lighton_ocr/modeling_lighton_ocr.py.

Pixtral's tower, a merger of 2x2 patches and two linear layers, Qwen3. File names: multimodal.py.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import Joined, projector
from ..trees.modules import Activation, Linear, Module, RMSNorm

#: What LightOnOcrConfig makes of absent sections.
_VISION = {
    "head_dim": 64, "hidden_size": 1024, "image_size": 1540, "intermediate_size": 4096,
    "num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14,
}  # fmt: skip
_TEXT = {
    "head_dim": 128, "hidden_size": 1024, "intermediate_size": 3072, "num_attention_heads": 16,
    "num_hidden_layers": 28, "num_key_value_heads": 8, "vocab_size": 151936,
}  # fmt: skip


def _projector(_j: Joined, c: ModelConfig, width: Dim, text: Dim) -> Module:
    side = c.dim("spatial_merge_size", default=2)
    merged = Linear(width * side * side, width, bias=False)
    return projector(
        "LightOnOcrMultiModalProjector",
        norm=RMSNorm(width, class_name="LightOnOcrRMSNorm"),
        patch_merger=Module("LightOnOcrPatchMerger", merging_layer=merged),
        linear_1=Linear(width, text, bias=False),
        act=Activation("GELU"),
        linear_2=Linear(text, text, bias=False),
    )


Joined(
    "LightOnOcr",
    "pixtral",
    "qwen3",
    projector=_projector,
    vision_defaults=_VISION,
    text_defaults=_TEXT,
    towers=("vision_encoder",),
    project="vision_projection",
    inside=True,
).register("lighton_ocr")
