"""ViLT (Kim et al. 2021). Source of shapes: transformers/models/vilt/modeling_vilt.py.

ViT's layers over the words of a text and the patches of an image, each kind with a vector of its
own. ``num_images`` images stand side by side in one of its classes.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.composing import composed, with_defaults
from ..layers.encoders import dropout, embeddings, hidden, norm
from ..layers.heads import classifier
from ..layers.vision import google_layer, pair, patch_conv, patch_count
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Sequential,
    Weight,
)

_DEFAULTS = {
    "vocab_size": 30522, "type_vocab_size": 2, "max_position_embeddings": 40, "hidden_size": 768,
    "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
    "hidden_act": "gelu", "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0.0,
}  # fmt: skip
_TABLE = "vilt.embeddings.text_embeddings.word_embeddings.weight"


def _embeddings(c: ModelConfig) -> Module:
    h = hidden(c)
    image, patch = pair(c, "image_size", default=384), pair(c, "patch_size", default=32)
    kinds = c.dim("modality_type_vocab_size", default=2)
    words = embeddings(c, "Text")
    return Module(
        "ViltEmbeddings",
        cls_token=Weight(1, 1, h, kind="class_token"),
        position_embeddings=Weight(1, patch_count(image, patch) + 1, h, kind="position"),
        text_embeddings=words,
        patch_embeddings=Module(
            "ViltPatchEmbeddings", projection=patch_conv(c.dim("num_channels", default=3), h, patch)
        ),
        token_type_embeddings=Embedding(kinds, h, kind="segment"),
        dropout=dropout(c),
        component=Component.EMBEDDING,
    )


def _bare(c: ModelConfig) -> Module:
    h = hidden(c)
    c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    layer = google_layer(
        "Vilt",
        h,
        c.dim("intermediate_size"),
        eps=c.number("layer_norm_eps", default=1e-12),
        act=c.text("hidden_act"),
        qkv_bias=c.flag("qkv_bias", default=True),
    )
    return Module(
        "ViltModel",
        embeddings=_embeddings(c),
        encoder=Module("ViltEncoder", layer=Layers.of(c.count("num_hidden_layers"), layer)),
        layernorm=norm(c),
        part="vision",
    )


def model(c: ModelConfig) -> Module:
    root, h = _bare(c), hidden(c)
    root.children["pooler"] = Module(
        "ViltPooler",
        dense=Linear(h, h),
        activation=Activation("Tanh"),
        component=Component.HEAD,
        kind="pooler",
    )
    return root


def _words(c: ModelConfig) -> Module:
    """The words are tied whatever the config says."""
    h = hidden(c)
    return Module(
        "ViltMLMHead",
        transform=Module(
            "ViltPredictionHeadTransform",
            dense=Linear(h, h, kind="transform"),
            transform_act_fn=activation(c.text("hidden_act")),
            LayerNorm=norm(c),
        ),
        decoder=Linear(h, c.dim("vocab_size"), kind="lm_head", tied_to=_TABLE),
        component=Component.HEAD,
    )


def _labelled(c: ModelConfig, width: Dim, inner: Dim) -> Module:
    return Sequential(
        Linear(width, inner, component=Component.HEAD),
        LayerNorm(inner),
        Activation("GELU"),
        classifier(inner, c.num_labels),
        component=Component.HEAD,
    )


def _answers(c: ModelConfig) -> Module:
    return _labelled(c, hidden(c), 2 * hidden(c))


def _images(c: ModelConfig) -> Module:
    width = hidden(c) * c.dim("num_images")
    return _labelled(c, width, width)


_CLASSES = composed(
    {
        "ViltModel": model,
        "ViltForMaskedLM": {"vilt": model, "mlm_score": _words},
        "ViltForQuestionAnswering": {"vilt": model, "classifier": _answers},
        "ViltForImageAndTextRetrieval": {
            "vilt": model,
            "rank_output": lambda c: classifier(hidden(c), 1),
        },
        "ViltForImagesAndTextClassification": {"vilt": model, "classifier": _images},
        "ViltForTokenClassification": {
            "vilt": _bare,
            "dropout": dropout,
            "classifier": lambda c: classifier(hidden(c), c.num_labels),
        },
    },
    part="vision",
)

register(
    "vilt",
    with_defaults(_DEFAULTS, _CLASSES),
    base="ViltModel",
    base_prefix="vilt",
    category="multimodal",
)
