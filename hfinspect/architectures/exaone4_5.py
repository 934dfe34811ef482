"""EXAONE 4.5 (LG AI Research 2026). Source: transformers/models/exaone4_5/modeling_exaone4_5.py.

Qwen2.5-VL's vision tower with grouped keys and values, and EXAONE 4's decoder. The first configs
call the text section ``exaone4_5_text``. Files also hold a block ``mtp`` that transformers drops
(``num_nextn_predict_layers``), as K-EXAONE's (exaone_moe.py).
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from . import exaone4
from .blocks import gated_mlp
from .modules import Activation, Layers, Linear, Module, RMSNorm
from .multimodal import decoder, lm_head
from .qwen2_vl import merger, patch_embed
from .qwen3_next import token_predictor
from .registry import register

_NAME = "Exaone4_5_"


def vision_model(c: ModelConfig) -> Module:
    width, heads = c.dim("hidden_size", default=3584), c.dim("num_heads", default=16)
    head = c.divided(width, heads, "hidden_size", "num_heads")
    kv = c.dim("num_key_value_heads", default=8) * head

    def norm() -> Module:
        return RMSNorm(width, eps=1e-6, class_name=f"{_NAME}RMSNorm")

    block = Module(
        f"{_NAME}VisionBlock",
        norm1=norm(),
        norm2=norm(),
        attn=Module(
            f"{_NAME}VisionAttention",
            proj=Linear(width, width, kind="output"),
            qkv=Linear(width, width + 2 * kv, kind="qkv"),
            component=Component.ATTENTION,
        ),
        mlp=gated_mlp(
            f"{_NAME}MLP",
            width,
            c.dim("intermediate_size", default=3420),
            bias=True,
            act=c.text("hidden_act", default="silu"),
        ),
    )
    out = c.dim("out_hidden_size", default=3584)
    return Module(
        f"{_NAME}VisionModel",
        patch_embed=patch_embed(f"{_NAME}PatchEmbed", c, width),
        rotary_pos_emb=Activation(f"{_NAME}VisionRotaryEmbedding"),
        blocks=Layers.of(c.count("depth", default=32), block),
        merger=merger(f"{_NAME}PatchMerger", c, width, out, norm()),
        part="vision",
    )


def _text(c: ModelConfig) -> ModelConfig:
    section = c.section("text_config")
    if section.model_type == "exaone4_5_text":
        section = ModelConfig({**section.values, "model_type": "exaone4"}, section.path)
    return ModelConfig({**c.values, "text_config": section.values}, c.path)


def model(c: ModelConfig) -> Module:
    return Module(
        f"{_NAME}Model",
        visual=vision_model(c.section("vision_config")),
        language_model=decoder(_text(c), "exaone4").base,
    )


def predictor(c: ModelConfig) -> Module | None:
    text = c.section("text_config")
    count = int(text.count("num_nextn_predict_layers", default=0))
    if not count:
        return None
    h, eps = text.dim("hidden_size", default=4096), text.number("rms_norm_eps", default=1e-5)
    return token_predictor(
        "Exaone4_5",
        h,
        lambda size: RMSNorm(size, eps=eps, class_name="Exaone4RMSNorm"),
        exaone4.layer(text),
        count,
    )


def generation(c: ModelConfig) -> Module:
    to = "model.language_model.embed_tokens.weight" if c.tied(default=False) else None
    return Module(
        f"{_NAME}ForConditionalGeneration",
        model=model(c),
        lm_head=lm_head(decoder(_text(c), "exaone4"), to),
        mtp=predictor(c),
    )


register(
    "exaone4_5",
    {f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": model},
    base=f"{_NAME}Model",
    base_prefix="model",
    category="multimodal",
)
