"""ViT (Dosovitskiy et al. 2020). Source of shapes: transformers/models/vit/modeling_vit.py.
transformers 5 renames the layers in memory; files keep ``attention.attention.query``
(conversion_mapping.py, ViTModel), and so does this tree."""

from functools import partial

from ..layers import vision
from ..layers.blocks import activation, size
from ..trees import Component, LayerNorm, Layers, Linear, ModelConfig, Module

hidden_size = size("hidden_size", default=768)


def model(c: ModelConfig, *, pooling: bool = True, masked: bool = False) -> Module:
    h = hidden_size(c)
    bias = c.flag("qkv_bias", default=True)
    width = vision.uneven_width(c, h, c.dim("num_attention_heads", default=12))
    attention = vision.google_attention("ViT", h, qkv_bias=bias, width=width)
    layer = vision.google_layer(c, "ViT", h, attention)
    layers = Layers.of(c.count("num_hidden_layers", default=12), layer)
    table = vision.google_embeddings(c, "ViT", h, masked=masked)
    norm = LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-12))
    parts = {"embeddings": table, "encoder": Module("ViTEncoder", layer=layers), "layernorm": norm}
    root = Module("ViTModel", parts, part="vision")
    if not pooling:
        return root
    act = activation(c.text("pooler_act", default="tanh"))
    pool = {"dense": Linear(h, c.dim("pooler_output_size", default=h)), "activation": act}
    return root.adding(pooler=Module("ViTPooler", pool, component=Component.HEAD, kind="pooler"))


vision.register_seeing(
    "vit",
    "ViT",
    model,
    ForImageClassification={
        "vit": partial(model, pooling=False),
        "classifier": lambda c: vision.labels_classifier(c, hidden_size(c)),
    },
    ForMaskedImageModeling={
        "vit": partial(model, pooling=False, masked=True),
        "decoder": lambda c: vision.pixel_decoder(c, hidden_size(c)),
    },
)
