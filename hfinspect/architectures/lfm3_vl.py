"""LFM3-VL (Liquid AI 2026). Source of shapes: transformers/models/lfm3_vl.

A tower of short convolutions over the image and a few attentions, as the decoder's (lfm3.py), a
projector over squares of patches, and any decoder.  File names are those of the first release.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, activation, grouped_attention, grouped_heads, layer_types, size
from ..layers.multimodal import decoder, lm_head, projector
from ..trees.catalog import register_pair, register_part
from ..trees.modules import Activation, Conv, LayerNorm, Layers, Linear, Module, RMSNorm

_NAME = "Lfm3Vl"


def _norm(c: ModelConfig, size: Dim) -> Module:
    eps = c.number("norm_eps", default=1e-5)
    return RMSNorm(size, eps=eps, class_name=f"{_NAME}VisionRMSNorm")


_hidden = size("hidden_size", default=1024)


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=16, kv=8)
    heads = Heads(heads.query, heads.kv, h // heads.query)  # a head_dim is not read here
    return grouped_attention(
        f"{_NAME}VisionAttention",
        h,
        heads,
        norms=lambda: {
            "q_layernorm": _norm(c, heads.dim),
            "k_layernorm": _norm(c, heads.dim),
        },
        out="out_proj",
    )


def convolution(c: ModelConfig) -> Module:
    h, kernel = _hidden(c), c.dim("conv_kernel_size", default=3)
    return Module(
        f"{_NAME}VisionShortConv",
        in_proj=Linear(h, 3 * h, bias=False),
        spatial_conv=Conv(h, h, kernel, groups=h, bias=False),
        out_proj=Linear(h, h, bias=False),
        component=Component.CONV,
    )


def vision_layer(c: ModelConfig, kind: str) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=2560)
    mixer = {"conv": convolution(c)} if kind == "conv" else {"self_attn": attention(c)}
    return Module(
        f"{_NAME}VisionLayer",
        {
            **mixer,
            "feed_forward": Module(
                f"{_NAME}VisionMLP",
                w1=Linear(h, inner, bias=False, kind="gate"),
                w3=Linear(h, inner, bias=False, kind="up"),
                w2=Linear(inner, h, bias=False, kind="down"),
                component=Component.MLP,
            ),
            "operator_norm": _norm(c, h),
            "ffn_norm": _norm(c, h),
        },
    )


def vision_model(c: ModelConfig) -> Module:
    h, patch = _hidden(c), c.dim("patch_size", default=16)
    frames = c.dim("temporal_patch_size", default=2)
    pixels = c.dim("in_channels", default=3) * frames * patch * patch
    count = int(c.count("num_hidden_layers", default=14))
    kinds = layer_types(c, count, lambda i: "conv" if i < 2 or i % 2 else "full_attention")
    built = {kind: vision_layer(c, kind) for kind in set(kinds)}
    return Module(
        f"{_NAME}VisionModel",
        patchifier=Linear(pixels, h, bias=False, component=Component.EMBEDDING, kind="patch"),
        rotary_emb=Activation(f"{_NAME}VisionRotaryEmbedding"),
        embedding_norm=_norm(c, h),
        layers=Layers(built[kind] for kind in kinds),
        part="vision",
    )


def base(c: ModelConfig) -> Module:
    vision, text = c.section("vision_config"), decoder(c, "lfm3")
    h, side = _hidden(vision), vision.dim("spatial_merge_size", default=2)
    inner = c.dim("projector_hidden_size", default=4096)
    bias = c.flag("projector_bias", default=True)
    return Module(
        f"{_NAME}Model",
        language_model=text.base,
        vision_tower=vision_model(vision),
        multi_modal_projector=projector(
            f"{_NAME}MultiModalProjector",
            layer_norm=LayerNorm(h, eps=1e-6),
            linear_1=Linear(h * side * side, inner, bias=bias),
            act=activation(c.text("projector_hidden_act", default="gelu")),
            linear_2=Linear(inner, text.hidden, bias=bias),
        ),
    )


def generation(c: ModelConfig) -> Module:
    to = "model.language_model.embed_tokens.weight" if c.tied() else None
    head = lm_head(decoder(c, "lfm3"), to)
    return Module(f"{_NAME}ForConditionalGeneration", model=base(c), lm_head=head)


register_pair("lfm3_vl", _NAME, generation, base, "multimodal")
register_part("lfm3_vl_vision", f"{_NAME}VisionModel", vision_model, "vision")
