"""DeepSeek-OCR (Wei et al. 2025): configs say model_type ``deepseek_vl_v2``, and the sizes of both
towers stand in the model's code. A module tree of it was printed by zyfjrx/deepseekocr."""

from collections.abc import Callable, Mapping

from ..layers.composing import respelled
from ..layers.vision import patch_conv
from ..trees import Component, ModelConfig, builder, register_part
from ..trees.modules import Conv, Module, Weight, each_module
from . import sam
from .deepseek_vl_v2 import TEXT, language_model, projector
from .llava import CLIP_L

#: build_sam_vit_b and build_clip_l of the model's code; the first has SAM's own sizes.
SAM = ModelConfig({"mlp_dim": 3072}, "sam_vit_b.")
CLIP = ModelConfig({**CLIP_L, "image_size": 224}, "clip_l.")
#: What transformers calls a part of SAM -> the name in its own code, and so in files.
_SAM_NAMES = {
    "layers": "blocks",
    "layer_norm1": "norm1",
    "layer_norm2": "norm2",
    "projection": "proj",
}
#: And what it calls the classes of both -> those of the model's code.
_CLASSES = {
    "SamVisionEncoder": "ImageEncoderViT",
    "SamPatchEmbeddings": "PatchEmbed",
    "SamVisionLayer": "Block",
    "SamVisionSdpaAttention": "Attention",
    "SamMLPBlock": "MLPBlock",
    "SamLayerNorm": "LayerNorm2d",
    "SamVisionNeck": "Sequential",
    "UnlimitedOcrVisionEncoder": "VitModel",
    "UnlimitedOcrVisionEmbeddings": "CLIPVisionEmbeddings",
    "UnlimitedOcrEncoder": "NoTPTransformer",
    "UnlimitedOcrEncoderLayer": "NoTPTransformerBlock",
    "UnlimitedOcrAttention": "NoTPAttention",
    "UnlimitedOcrMLP": "NoTPFeedForward",
}


def _released(tower: Module) -> Module:
    for module in each_module(tower):
        module.class_name = _CLASSES.get(module.class_name, module.class_name)
    return tower


def sam_encoder(c: ModelConfig) -> Module:
    """SAM's encoder under the names of its own code, and two strided convolutions."""
    tower = respelled(sam.vision_encoder(c), _SAM_NAMES)
    neck = tower.inside("neck").children.values()
    out = c.dim("output_channels", default=256)
    more = c.dims("downsample_channels", default=(512, 1024), least=2)
    return tower.adding(
        neck=Module("SamVisionNeck", {str(i): part for i, part in enumerate(neck)}),
        net_2=Conv(out, more[0], 3, bias=False, stride=2),
        net_3=Conv(more[0], more[1], 3, bias=False, stride=2),
    )


def sam_model(c: ModelConfig = SAM) -> Module:
    """The same with the classes of the model's code."""
    return _released(sam_encoder(c))


def clip_model() -> Module:
    """CLIP's tower, its patches never used: SAM's output stands in their place."""
    tower = _released(builder("UnlimitedOcrVisionEncoder")(CLIP))
    patch = CLIP.dim("patch_size")
    patches = patch_conv(3, CLIP.dim("hidden_size"), (patch, patch), bias=False)
    tower.inside("embeddings").adding(patch_embedding=patches)
    return tower


def register_ocr(
    name: str,
    towers: Mapping[str, Callable[[], Module]],
    inputs: int,
    marks: tuple[str, ...],
    source: str,
) -> None:
    """``{name}ForCausalLM``: in the decoder's base model ``towers``, a projector of
    ``inputs`` numbers, and vectors that mark where rows and views end. The decoder's keys stand
    next to ``language_config`` and in it."""

    def causal_lm(config: ModelConfig) -> Module:
        c = config.with_defaults(**config.section("language_config").values)
        root = language_model(c).called(f"{name}ForCausalLM")
        width = TEXT.width(c)
        joining = config.section("projector_config").with_defaults(
            projector_type="linear", input_dim=inputs, n_embed=int(width)
        )
        root.inside("model").called(f"{name}Model").adding(
            **{at: build() for at, build in towers.items()},
            projector=projector(joining),
            **dict.fromkeys(marks, Weight(width, component=Component.EMBEDDING)),
        )
        return root

    register_part((name, name.lower()), f"{name}ForCausalLM", causal_lm, source=source)


register_ocr(
    "DeepseekOCR",
    {"sam_model": sam_model, "vision_model": clip_model},
    2048,
    ("image_newline", "view_seperator"),
    "modeling_deepseekocr.py and deepencoder.py of deepseek-ai/DeepSeek-OCR",
)
