"""ViT (Dosovitskiy et al. 2020). Source of shapes: transformers/models/vit/modeling_vit.py.

Patches through one convolution, a class token, learned positions, pre-norm layers. transformers 5
renames the layers in memory; files keep ``encoder.layer.N.attention.attention.query``
(conversion_mapping.py, ViTModel), and so does this tree.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.composing import Part, composed
from ..layers.vision import (
    google_layer,
    labels_classifier,
    pair,
    patch_conv,
    patch_count,
    uneven_width,
)
from ..trees.catalog import Builder, register
from ..trees.modules import (
    Activation,
    Conv,
    Dropout,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Sequential,
    Weight,
)

hidden_size = size("hidden_size", default=768)


def _eps(c: ModelConfig) -> float:
    return c.number("layer_norm_eps", default=1e-12)


def embeddings(c: ModelConfig, *, mask_token: bool = False) -> Module:
    h = hidden_size(c)
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=16)
    return Module(
        "ViTEmbeddings",
        cls_token=Weight(1, 1, h, kind="class_token"),
        mask_token=Weight(1, 1, h, kind="mask_token") if mask_token else None,
        position_embeddings=Weight(1, patch_count(image, patch) + 1, h, kind="position"),
        patch_embeddings=Module(
            "ViTPatchEmbeddings",
            projection=patch_conv(c.dim("num_channels", default=3), h, patch),
        ),
        dropout=Dropout(c.number("hidden_dropout_prob", default=0.0)),
        component=Component.EMBEDDING,
    )


def layer(c: ModelConfig) -> Module:
    return google_layer(
        "ViT",
        hidden_size(c),
        c.dim("intermediate_size", default=3072),
        eps=_eps(c),
        act=c.text("hidden_act", default="gelu"),
        qkv_bias=c.flag("qkv_bias", default=True),
        width=uneven_width(c, hidden_size(c), c.dim("num_attention_heads", default=12)),
    )


def pooler(c: ModelConfig) -> Module:
    h = hidden_size(c)
    return Module(
        "ViTPooler",
        dense=Linear(h, c.dim("pooler_output_size", default=h)),
        activation=activation(c.text("pooler_act", default="tanh")),
        component=Component.HEAD,
        kind="pooler",
    )


def model(c: ModelConfig, *, pooling: bool = True, mask_token: bool = False) -> Module:
    layers = Layers.of(c.count("num_hidden_layers", default=12), layer(c))
    return Module(
        "ViTModel",
        embeddings=embeddings(c, mask_token=mask_token),
        encoder=Module("ViTEncoder", layer=layers),
        layernorm=LayerNorm(hidden_size(c), eps=_eps(c)),
        pooler=pooler(c) if pooling else None,
        part="vision",
    )


def masked_decoder(c: ModelConfig) -> Module:
    """Every pixel of a patch from its vector: one 1x1 convolution, then a shuffle."""
    stride = c.dim("encoder_stride", default=16)
    pixels = stride * stride * c.dim("num_channels", default=3)
    conv = Conv(hidden_size(c), pixels, 1, component=Component.HEAD)
    return Sequential(conv, Activation("PixelShuffle"), component=Component.HEAD)


_CLASSES: dict[str, Builder | dict[str, Part]] = {
    "ViTForImageClassification": {
        "vit": partial(model, pooling=False),
        "classifier": lambda c: labels_classifier(c, hidden_size(c)),
    },
    "ViTModel": model,
    "ViTForMaskedImageModeling": {
        "vit": partial(model, pooling=False, mask_token=True),
        "decoder": masked_decoder,
    },
}
register("vit", composed(_CLASSES, part="vision"), base_prefix="vit", category="vision")
