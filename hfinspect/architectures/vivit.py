"""ViViT (Arnab et al. 2021). Source of shapes: transformers/models/vivit/modeling_vivit.py.

ViT's layers over tubelets: blocks of some frames and a patch of the image, each one vector.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.vision import google_layer, labels_classifier, pair, patch_count, uneven_width
from ..trees.catalog import register
from ..trees.modules import Conv, Dropout, LayerNorm, Layers, Linear, Module, Weight


def hidden_size(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def _eps(c: ModelConfig) -> float:
    return c.number("layer_norm_eps", default=1e-6)


def embeddings(c: ModelConfig) -> Module:
    h = hidden_size(c)
    tube = c.dims("tubelet_size", default=(2, 16, 16))
    if len(tube) != 3:
        raise c.error("tubelet_size", c.raw("tubelet_size"), "three sizes")
    image = pair(c, "image_size", default=224)
    times = c.dim("num_frames", default=32) // tube[0]
    patches = times * patch_count(image, (tube[1], tube[2]))
    channels = c.dim("num_channels", default=3)
    projection = Conv(
        channels, h, tube, dims=3, stride=tube, component=Component.EMBEDDING, kind="patch"
    )
    return Module(
        "VivitEmbeddings",
        cls_token=Weight(1, 1, h, kind="class_token"),
        position_embeddings=Weight(1, patches + 1, h, kind="position"),
        patch_embeddings=Module("VivitTubeletEmbeddings", projection=projection),
        dropout=Dropout(c.number("hidden_dropout_prob", default=0.0)),
        component=Component.EMBEDDING,
    )


def layer(c: ModelConfig) -> Module:
    return google_layer(
        "Vivit",
        hidden_size(c),
        c.dim("intermediate_size", default=3072),
        eps=_eps(c),
        act=c.text("hidden_act", default="gelu_fast"),
        qkv_bias=c.flag("qkv_bias", default=True),
        width=uneven_width(c, hidden_size(c), c.dim("num_attention_heads", default=12)),
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    h = hidden_size(c)
    pooler = Module(
        "VivitPooler",
        dense=Linear(h, c.dim("pooler_output_size", default=h)),
        activation=activation(c.text("pooler_act", default="tanh")),
        component=Component.HEAD,
        kind="pooler",
    )
    layers = Layers.of(c.count("num_hidden_layers", default=12), layer(c))
    return Module(
        "VivitModel",
        embeddings=embeddings(c),
        encoder=Module("VivitEncoder", layer=layers),
        layernorm=LayerNorm(h, eps=_eps(c)),
        pooler=pooler if pooling else None,
        part="vision",
    )


def video_classification(c: ModelConfig) -> Module:
    return Module(
        "VivitForVideoClassification",
        vivit=model(c, pooling=False),
        classifier=labels_classifier(c, hidden_size(c)),
        part="vision",
    )


register(
    "vivit",
    {"VivitForVideoClassification": video_classification, "VivitModel": model},
    base="VivitModel",
    base_prefix="vivit",
    category="vision",
)
