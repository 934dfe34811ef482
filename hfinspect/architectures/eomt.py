"""EoMT and VidEoMT (Kerssies et al. 2025; Norouzi et al. 2026): masks from a plain ViT.
Source of shapes: transformers/models/eomt, eomt_dinov3 and videomt.

Queries join the tokens of DINOv2 or DINOv3 in its last layers; the image's tokens are enlarged and
compared with them. On videos the queries of one frame are handed to the next.
"""

from collections.abc import Callable
from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, gated_mlp, gated_width
from ..layers.composing import renamed
from ..layers.vision import clip_attention, pair, patch_conv, patch_count, plain_mlp, scaled
from ..trees.catalog import register_part
from ..trees.modules import (
    Buffer,
    Conv,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Weight,
)
from . import dinov3_vit
from .mask2former import criterion

_DINO = "EomtDinov3"


def _h(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=1024)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_h(c), eps=c.number("layer_norm_eps", default=1e-6))


def _registers(c: ModelConfig) -> Dim:
    return c.dim("num_register_tokens", default=4, minimum=0)


# ---- DINOv2's tokens and layers


def embeddings(name: str, c: ModelConfig) -> Module:
    h = _h(c)
    image, patch = pair(c, "image_size", default=640), pair(c, "patch_size", default=16)
    patches = patch_conv(c.dim("num_channels", default=3), h, patch)
    return Module(
        f"{name}Embeddings",
        cls_token=Weight(1, 1, h, kind="class_token"),
        register_tokens=Weight(1, _registers(c), h, kind="register_token"),
        mask_token=Weight(1, 1, h, kind="mask_token") if name == "Videomt" else None,
        patch_embeddings=Module(f"{name}PatchEmbeddings", projection=patches),
        dropout=Dropout(c.number("hidden_dropout_prob", default=0.0)),
        position_embeddings=Embedding(patch_count(image, patch), h, kind="position"),
        component=Component.EMBEDDING,
    )


def layer(name: str, c: ModelConfig) -> Module:
    h, act = _h(c), c.text("hidden_act", default="gelu")
    c.divided(h, c.dim("num_attention_heads", default=16), "hidden_size", "num_attention_heads")
    inner = scaled(c, h, "mlp_ratio", default=4)
    gated = c.flag("use_swiglu_ffn", default=False)
    scale = Module(f"{name}LayerScale", lambda1=Weight(h, kind="scale"))
    return Module(
        f"{name}Layer",
        norm1=_norm(c),
        attention=clip_attention(f"{name}Attention", h),
        layer_scale1=scale,
        norm2=_norm(c),
        mlp=gated_mlp(f"{name}SwiGLUFFN", h, gated_width(inner), bias=True)
        if gated
        else plain_mlp(f"{name}MLP", h, inner, act=act),
        layer_scale2=scale,
    )


# ---- DINOv3's


def _dino(c: ModelConfig) -> ModelConfig:
    return c.with_defaults(hidden_size=1024, intermediate_size=4096, num_register_tokens=4)


def dino_embeddings(name: str, c: ModelConfig) -> Module:
    root = dinov3_vit.embeddings(_dino(c))
    del root.children["mask_token"]
    return renamed(root, "DINOv3ViT", name)


def dino_layer(name: str, c: ModelConfig) -> Module:
    h = _h(c)
    c.divided(h, c.dim("num_attention_heads", default=16), "hidden_size", "num_attention_heads")
    return renamed(dinov3_vit.layer(_dino(c)), "DINOv3ViT", name)


# ---- masks


Part = Callable[[str, ModelConfig], Module]


def segmentation(name: str, tokens: Part, block: Part, c: ModelConfig) -> Module:
    h, act = _h(c), activation(c.text("hidden_act", default="gelu"))
    larger = Module(
        f"{name}ScaleLayer",
        conv1=Conv(h, h, 2, stride=2, transposed=True),
        activation=act,
        conv2=Conv(h, h, 3, groups=h, bias=False),
        layernorm2d=LayerNorm(h, class_name=f"{name}LayerNorm2d"),
    )
    linear = Linear(h, h, component=Component.HEAD)
    steps = int(c.count("num_upscale_blocks", default=2))
    return Module(
        f"{name}ForUniversalSegmentation",
        embeddings=tokens(name, c),
        layernorm=_norm(c),
        query=Embedding(c.dim("num_queries", default=200), h, kind="detection_token"),
        layers=Layers.of(c.count("num_hidden_layers", default=24), block(name, c)),
        upscale_block=Module(
            f"{name}ScaleBlock", block=Layers([larger] * steps), component=Component.CONV
        ),
        mask_head=Module(
            f"{name}MaskHead",
            fc1=linear,
            fc2=linear,
            fc3=linear,
            activation=act,
            component=Component.HEAD,
        ),
        class_predictor=Linear(h, c.num_labels + 1, component=Component.HEAD, kind="classifier"),
        criterion=criterion(c, f"{name}Loss"),
        attn_mask_probs=Buffer(c.count("num_blocks", default=4)),
        query_updater=Linear(h, h, component=Component.PROJECTOR) if name == "Videomt" else None,
        part="vision",
    )


for model_type, prefix, tokens_of, layer_of in (
    ("eomt", "Eomt", embeddings, layer),
    ("videomt", "Videomt", embeddings, layer),
    ("eomt_dinov3", _DINO, dino_embeddings, dino_layer),
):
    register_part(
        model_type,
        f"{prefix}ForUniversalSegmentation",
        partial(segmentation, prefix, tokens_of, layer_of),
        "vision",
    )
