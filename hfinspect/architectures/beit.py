"""BEiT (Bao et al. 2021). Source of shapes: transformers/models/beit/modeling_beit.py.

A ViT without bias on the keys, with a scale per channel, and relative positions (per layer or
shared) instead of, or beside, absolute ones. Segmentation heads are not built here.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from .blocks import activation
from .modules import Activation, Buffer, Dropout, LayerNorm, Layers, Linear, Module, Weight
from .registry import register
from .vision import labels_classifier, pair, patch_conv, patch_count, uneven_width


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def _heads(c: ModelConfig) -> Dim:
    return c.dim("num_attention_heads", default=12)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-12))


def embeddings(c: ModelConfig) -> Module:
    h = _hidden(c)
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=16)
    absolute = c.flag("use_absolute_position_embeddings", default=False)
    masked = c.flag("use_mask_token", default=False)
    return Module(
        "BeitEmbeddings",
        cls_token=Weight(1, 1, h, kind="class_token"),
        mask_token=Weight(1, 1, h, kind="mask_token") if masked else None,
        position_embeddings=Weight(1, patch_count(image, patch) + 1, h, kind="position")
        if absolute
        else None,
        patch_embeddings=Module(
            "BeitPatchEmbeddings",
            projection=patch_conv(c.dim("num_channels", default=3), h, patch),
        ),
        dropout=Dropout(c.number("hidden_dropout_prob", default=0.0)),
        component=Component.EMBEDDING,
    )


def relative_positions(c: ModelConfig) -> Module:
    """One bias per head and offset of two patches: (2·h - 1)·(2·w - 1), 3 for the class token."""
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=16)
    rows, columns = image[0] // patch[0], image[1] // patch[1]
    area = rows * columns
    offsets = (2 * rows - 1) * (2 * columns - 1) + 3
    return Module(
        "BeitRelativePositionBias",
        relative_position_bias_table=Weight(offsets, _heads(c), kind="relative_position"),
        # Older files hold which offset each pair of positions has.
        relative_position_index=Buffer(area + 1, area + 1, dtype="I64", saved=False),
        component=Component.ATTENTION,
    )


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    width = uneven_width(c, h, _heads(c)) or h
    relative = c.flag("use_relative_position_bias", default=False)
    return Module(
        "BeitAttention",
        attention=Module(
            "BeitSelfAttention",
            query=Linear(h, width, kind="query"),
            key=Linear(h, width, bias=False, kind="key"),
            value=Linear(h, width, kind="value"),
            relative_position_bias=relative_positions(c) if relative else None,
        ),
        output=Module("BeitSelfOutput", dense=Linear(width, h, kind="output")),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=3072)
    scaled = c.number("layer_scale_init_value", default=0.1) > 0
    return Module(
        "BeitLayer",
        lambda_1=Weight(h, kind="scale") if scaled else None,
        lambda_2=Weight(h, kind="scale") if scaled else None,
        attention=attention(c),
        intermediate=Module(
            "BeitIntermediate",
            dense=Linear(h, inner, kind="up"),
            intermediate_act_fn=activation(c.text("hidden_act", default="gelu")),
            component=Component.MLP,
        ),
        output=Module("BeitOutput", dense=Linear(inner, h, kind="down"), component=Component.MLP),
        layernorm_before=_norm(c),
        layernorm_after=_norm(c),
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    mean = c.flag("use_mean_pooling", default=True)
    shared = c.flag("use_shared_relative_position_bias", default=False)
    layers = Layers.of(c.count("num_hidden_layers", default=12), layer(c))
    return Module(
        "BeitModel",
        embeddings=embeddings(c),
        encoder=Module(
            "BeitEncoder",
            relative_position_bias=relative_positions(c) if shared else None,
            layer=layers,
        ),
        layernorm=Activation("Identity") if mean else _norm(c),
        pooler=Module("BeitPooler", layernorm=_norm(c) if mean else None) if pooling else None,
        part="vision",
    )


def image_classification(c: ModelConfig) -> Module:
    return Module(
        "BeitForImageClassification",
        beit=model(c),
        classifier=labels_classifier(c, _hidden(c)),
        part="vision",
    )


def masked_image_modeling(c: ModelConfig) -> Module:
    """Predicts the visual word of each hidden patch."""
    words = Linear(
        _hidden(c), c.dim("vocab_size", default=8192), component=Component.HEAD, kind="lm_head"
    )
    return Module(
        "BeitForMaskedImageModeling",
        beit=model(c, pooling=False),
        layernorm=_norm(c),
        lm_head=words,
        part="vision",
    )


register(
    "beit",
    {
        "BeitForImageClassification": image_classification,
        "BeitModel": model,
        "BeitForMaskedImageModeling": masked_image_modeling,
    },
    base="BeitModel",
    base_prefix="beit",
    category="vision",
)
