"""EXAONE 4.5 (LG AI Research 2026). Source: transformers/models/exaone4_5.

Qwen2.5-VL's tower with grouped queries before any decoder, EXAONE 4 (exaone4.py) by default.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import gated_mlp
from ..layers.multimodal import register_worded
from ..trees.catalog import auto_model, register_part
from ..trees.modules import Activation, Layers, Linear, Module, RMSNorm
from .qwen2_vl import merger, patch_embed

_NAME = "Exaone4_5_"


def vision_model(c: ModelConfig) -> Module:
    h, inner = c.dim("hidden_size", default=3584), c.dim("intermediate_size", default=3420)
    heads = c.dim("num_heads", "num_attention_heads", default=16)
    groups = c.dim("num_key_value_heads", default=8)
    head_dim = h // heads

    def norm() -> Module:
        return RMSNorm(h, eps=1e-6, class_name=f"{_NAME}RMSNorm")

    block = Module(
        f"{_NAME}VisionBlock",
        norm1=norm(),
        norm2=norm(),
        attn=Module(
            f"{_NAME}VisionAttention",
            qkv=Linear(h, heads * head_dim + 2 * groups * head_dim, kind="qkv"),
            proj=Linear(h, h, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=gated_mlp(f"{_NAME}MLP", h, inner, bias=True, act=c.text("hidden_act", default="silu")),
    )
    return Module(
        f"{_NAME}VisionModel",
        patch_embed=patch_embed(f"{_NAME}PatchEmbed", c, h),
        rotary_pos_emb=Activation(f"{_NAME}VisionRotaryEmbedding"),
        blocks=Layers.of(c.count("depth", "num_hidden_layers", default=32), block),
        merger=merger(f"{_NAME}PatchMerger", c, h, c.dim("out_hidden_size", default=3584), norm()),
        part="vision",
    )


def base(c: ModelConfig) -> Module:
    text = c.section("text_config")
    if text.model_type == "exaone4_5_text":  # the first release's name of it
        text = ModelConfig({**text.values, "model_type": "exaone4"}, text.path)
    return Module(
        f"{_NAME}Model",
        visual=vision_model(c.section("vision_config")),
        language_model=auto_model(text, default_type="exaone4"),
    )


register_worded("exaone4_5", _NAME, base, tied=False)
register_part("exaone4_5_vision", f"{_NAME}VisionModel", vision_model, "vision")
