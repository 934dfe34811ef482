"""TIPSv2 (Google 2026). Source of shapes: transformers/models/tipsv2/modeling_tipsv2.py.

A text tower of CLIP's kind with fixed positions, and DINOv2's layers over images, with a
temperature. Files keep the names of Google's code (conversion_mapping.py).
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, gated_width, size, two_layer_mlp
from ..layers.vision import multihead_attention, pair, patch_conv, patch_count, scaled
from ..trees.catalog import Builder, register
from ..trees.modules import Dropout, Embedding, LayerNorm, Layers, Linear, Module, Weight
from .radio import fused_attention

_hidden = size("hidden_size", default=768)


# ---- text


def _mlp(name: str, width: Dim, inner: Dim, act: str | None) -> Module:
    names = ("c_fc", "c_proj")
    return two_layer_mlp(name, width, inner, act=act, names=names, act_name="activation_fn")


def _text_layer(c: ModelConfig) -> Module:
    h, eps = _hidden(c), c.number("layer_norm_eps", default=1e-5)
    c.divided(h, c.dim("num_attention_heads", default=12), "hidden_size", "num_attention_heads")
    inner, act = c.dim("intermediate_size", default=3072), c.text("hidden_act", default="relu")
    return Module(
        "Tipsv2TextEncoderLayer",
        attn=multihead_attention(h, "Tipsv2TextAttention", out="Linear"),
        ln_1=LayerNorm(h, eps=eps),
        mlp=_mlp("Tipsv2MLP", h, inner, act),
        ln_2=LayerNorm(h, eps=eps),
    )


def text_model(c: ModelConfig) -> Module:
    h, count = _hidden(c), c.count("num_hidden_layers", default=12)
    return Module(
        "Tipsv2TextModel",
        token_embedding=Embedding(c.dim("vocab_size", default=32000), h),
        transformer=Module("Tipsv2TextEncoder", resblocks=Layers.of(count, _text_layer(c))),
        ln_final=LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-5)),
        part="text",
    )


# ---- vision


def _vision_mlp(c: ModelConfig) -> Module:
    h = _hidden(c)
    inner = scaled(c, h, "mlp_ratio", default=4)
    if not c.flag("use_swiglu_ffn", default=False):
        return _mlp("Tipsv2VisionMLP", h, inner, c.text("hidden_act", default="gelu"))
    gated = gated_width(inner)
    return Module(
        "Tipsv2VisionSwiGLUFFN",
        w12=Linear(h, 2 * gated, kind="gate_up"),
        w3=Linear(gated, h, kind="down"),
        act_fn=activation("silu"),
        component=Component.MLP,
    )


def _vision_layer(c: ModelConfig) -> Module:
    h, eps = _hidden(c), c.number("layer_norm_eps", default=1e-6)
    scale = Module("Tipsv2VisionLayerScale", gamma=Weight(h, kind="scale"))
    return Module(
        "Tipsv2VisionLayer",
        norm1=LayerNorm(h, eps=eps),
        attn=fused_attention("Tipsv2VisionAttention", c, h, 12),
        ls1=scale,
        norm2=LayerNorm(h, eps=eps),
        mlp=_vision_mlp(c),
        ls2=scale,
    )


def vision_model(c: ModelConfig, *, name: str = "Tipsv2VisionModel") -> Module:
    h = _hidden(c)
    image, patch = pair(c, "image_size", default=448), pair(c, "patch_size", default=14)
    registers = c.dim("num_register_tokens", default=1, minimum=0)
    count, to = c.count("num_hidden_layers", default=12), Component.EMBEDDING
    return Module(
        name,
        cls_token=Weight(1, 1, h, kind="class_token", component=to),
        mask_token=Weight(1, h, kind="mask_token", component=to),
        pos_embed=Weight(1, patch_count(image, patch) + 1, h, kind="position", component=to),
        register_tokens=Weight(1, registers, h, kind="register_token", component=to),
        patch_embed=Module(
            "Tipsv2VisionPatchEmbeddings",
            proj=patch_conv(c.dim("num_channels", default=3), h, patch),
            component=to,
        ),
        dropout=Dropout(c.number("hidden_dropout_prob", default=0.0)),
        blocks=Layers.of(count, _vision_layer(c)),
        norm=LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-6)),
        part="vision",
    )


def both(c: ModelConfig) -> Module:
    text, vision = c.section("text_config"), c.section("vision_config")
    if _hidden(text) != _hidden(vision):
        key = f"{vision.path}hidden_size"
        raise c.error(key, int(_hidden(vision)), f"that of the texts, {int(_hidden(text))}")
    return Module(
        "Tipsv2Model",
        temperature=Weight(kind="scale"),
        text_encoder=text_model(text),
        vision_encoder=vision_model(vision),
    )


_VISION: dict[str, Builder] = {
    "Tipsv2VisionModel": vision_model,
    "Tipsv2VisionBackbone": partial(vision_model, name="Tipsv2VisionBackbone"),
}
register("tipsv2", {"Tipsv2Model": both}, category="multimodal")
register("tipsv2_vision_model", _VISION, category="vision")
register("tipsv2_text_model", {"Tipsv2TextModel": text_model}, category="encoder")
