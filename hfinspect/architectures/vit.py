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
    google_attention,
    google_embeddings,
    google_layer,
    labels_classifier,
    pixel_decoder,
    uneven_width,
)
from ..trees.catalog import Builder, register
from ..trees.modules import LayerNorm, Layers, Linear, Module

hidden_size = size("hidden_size", default=768)


def layer(c: ModelConfig) -> Module:
    h, bias = hidden_size(c), c.flag("qkv_bias", default=True)
    width = uneven_width(c, h, c.dim("num_attention_heads", default=12))
    return google_layer(c, "ViT", h, google_attention("ViT", h, qkv_bias=bias, width=width))


def pooler(c: ModelConfig) -> Module:
    h = hidden_size(c)
    return Module(
        "ViTPooler",
        dense=Linear(h, c.dim("pooler_output_size", default=h)),
        activation=activation(c.text("pooler_act", default="tanh")),
        component=Component.HEAD,
        kind="pooler",
    )


def model(c: ModelConfig, *, pooling: bool = True, masked: bool = False) -> Module:
    layers = Layers.of(c.count("num_hidden_layers", default=12), layer(c))
    return Module(
        "ViTModel",
        embeddings=google_embeddings(c, "ViT", hidden_size(c), masked=masked),
        encoder=Module("ViTEncoder", layer=layers),
        layernorm=LayerNorm(hidden_size(c), eps=c.number("layer_norm_eps", default=1e-12)),
        pooler=pooler(c) if pooling else None,
        part="vision",
    )


_CLASSES: dict[str, Builder | dict[str, Part]] = {
    "ViTForImageClassification": {
        "vit": partial(model, pooling=False),
        "classifier": lambda c: labels_classifier(c, hidden_size(c)),
    },
    "ViTModel": model,
    "ViTForMaskedImageModeling": {
        "vit": partial(model, pooling=False, masked=True),
        "decoder": lambda c: pixel_decoder(c, hidden_size(c)),
    },
}
register("vit", composed(_CLASSES, part="vision"), base_prefix="vit", category="vision")
