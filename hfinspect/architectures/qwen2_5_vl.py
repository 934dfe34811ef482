"""Qwen2.5-VL (Bai et al. 2025). Source: transformers/models/qwen2_5_vl/modeling_qwen2_5_vl.py.

Qwen2-VL with RMS norms and a gated MLP with biases in the vision tower, most of whose layers look
within windows only. File names and the two spellings of the config as in qwen2_vl.py.
"""

from ..core.config import ModelConfig
from ..layers.blocks import fused_attention, gated_mlp
from ..trees.catalog import register, register_part
from ..trees.modules import Activation, Layers, Module, RMSNorm
from .qwen2_vl import (
    ALIASES,
    TEXT,
    head,
    merger,
    patch_embed,
    text_model,
    text_section,
)

_NAME = "Qwen2_5_VL"


def vision_model(c: ModelConfig) -> Module:
    width = c.dim("hidden_size", default=3584)

    def norm() -> Module:
        return RMSNorm(width, eps=1e-6, class_name="Qwen2_5_VLRMSNorm")

    block = Module(
        "Qwen2_5_VLVisionBlock",
        norm1=norm(),
        norm2=norm(),
        attn=fused_attention("Qwen2_5_VLVisionAttention", width),
        mlp=gated_mlp(
            "Qwen2_5_VLMLP",
            width,
            c.dim("intermediate_size", default=3420),
            bias=True,
            act=c.text("hidden_act", default="silu"),
        ),
    )
    out = c.dim("out_hidden_size", default=3584)
    return Module(
        "Qwen2_5_VisionTransformerPretrainedModel",
        patch_embed=patch_embed("Qwen2_5_VisionPatchEmbed", c, width),
        rotary_pos_emb=Activation("Qwen2_5_VLVisionRotaryEmbedding"),
        blocks=Layers.of(c.count("depth", "num_hidden_layers", default=32), block),
        merger=merger("Qwen2_5_VLPatchMerger", c, width, out, norm()),
        part="vision",
    )


def generation(c: ModelConfig) -> Module:
    return Module(
        "Qwen2_5_VLForConditionalGeneration",
        visual=vision_model(c.section("vision_config")),
        model=TEXT.like(_NAME).named("Qwen2_5_VLModel", text_section(c)),
        lm_head=head(c, "model.embed_tokens.weight"),
    )


def base(c: ModelConfig) -> Module:
    return Module(
        "Qwen2_5_VLModel",
        visual=vision_model(c.section("vision_config")),
        language_model=text_model(_NAME, text_section(c)),
    )


def only_text(c: ModelConfig) -> Module:
    return text_model(_NAME, text_section(c))


register(
    "qwen2_5_vl",
    {"Qwen2_5_VLForConditionalGeneration": generation, "Qwen2_5_VLModel": base},
    aliases=ALIASES,
    category="multimodal",
)
register_part("qwen2_5_vl_text", "Qwen2_5_VLTextModel", only_text, "text decoder")
register_part(
    "qwen2_5_vl_vision", "Qwen2_5_VisionTransformerPretrainedModel", vision_model, "vision"
)
