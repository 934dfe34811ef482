"""DINOv2 (Oquab et al. 2023). Source of shapes: transformers/models/dinov2/modeling_dinov2.py.

A ViT with a learned scale per channel after attention and MLP; the giant has a gated MLP, whose
two input matrices are one tensor in files (``mlp.weights_in``).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, gated_width
from ..layers.vision import (
    google_attention,
    labels_classifier,
    pair,
    patch_conv,
    patch_count,
    plain_mlp,
    scaled,
    uneven_width,
)
from ..trees.catalog import register
from ..trees.modules import Dropout, LayerNorm, Layers, Linear, Module, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-6))


def embeddings(c: ModelConfig) -> Module:
    h = _hidden(c)
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=14)
    masked = c.flag("use_mask_token", default=True)
    return Module(
        "Dinov2Embeddings",
        cls_token=Weight(1, 1, h, kind="class_token"),
        mask_token=Weight(1, h, kind="mask_token") if masked else None,
        position_embeddings=Weight(1, patch_count(image, patch) + 1, h, kind="position"),
        patch_embeddings=Module(
            "Dinov2PatchEmbeddings",
            projection=patch_conv(c.dim("num_channels", default=3), h, patch),
        ),
        dropout=Dropout(c.number("hidden_dropout_prob", default=0.0)),
        component=Component.EMBEDDING,
    )


def mlp(c: ModelConfig) -> Module:
    h = _hidden(c)
    inner = scaled(c, h, "mlp_ratio", default=4)
    if not c.flag("use_swiglu_ffn", default=False):
        return plain_mlp("Dinov2MLP", h, inner, act=c.text("hidden_act", default="gelu"))
    gated = gated_width(inner)
    return Module(
        "Dinov2SwiGLUFFN",
        weights_in=Linear(h, 2 * gated, kind="gate_up"),
        act_fn=activation("silu"),
        weights_out=Linear(gated, h, kind="down"),
        component=Component.MLP,
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    width = uneven_width(c, h, c.dim("num_attention_heads", default=12))
    scale = Module("Dinov2LayerScale", lambda1=Weight(h, kind="scale"))
    bias = c.flag("qkv_bias", default=True)
    return Module(
        "Dinov2Layer",
        norm1=_norm(c),
        attention=google_attention("Dinov2", h, qkv_bias=bias, width=width),
        layer_scale1=scale,
        norm2=_norm(c),
        mlp=mlp(c),
        layer_scale2=scale,
    )


def model(c: ModelConfig, *, name: str = "Dinov2Model") -> Module:
    layers = Layers.of(c.count("num_hidden_layers", default=12), layer(c))
    return Module(
        name,
        embeddings=embeddings(c),
        encoder=Module("Dinov2Encoder", layer=layers),
        layernorm=_norm(c),
        part="vision",
    )


def image_classification(c: ModelConfig) -> Module:
    """The classifier sees the class token and the mean of the patches: 2·H wide."""
    return Module(
        "Dinov2ForImageClassification",
        dinov2=model(c),
        classifier=labels_classifier(c, 2 * _hidden(c)),
        part="vision",
    )


def backbone(c: ModelConfig) -> Module:
    return model(c, name="Dinov2Backbone")


register(
    "dinov2",
    {
        "Dinov2Model": model,
        "Dinov2ForImageClassification": image_classification,
        "Dinov2Backbone": backbone,
    },
    base="Dinov2Model",
    base_prefix="dinov2",
    category="vision",
)
