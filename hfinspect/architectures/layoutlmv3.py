"""LayoutLMv3 (Huang et al. 2022). Source: transformers/models/layoutlmv3/modeling_layoutlmv3.py.

RoBERTa's layers over words, their place on the page, and patches of the page's image; relative
positions along the text and on the page are biases of all layers' attention.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels, norm
from ..trees.catalog import register
from ..trees.modules import Conv, Dropout, Embedding, LayerNorm, Linear, Module, Weight

_NAME = "LayoutLMv3"

#: With this many labels and more, tokens get a head of two layers (modeling_layoutlmv3.py).
_MANY_LABELS = 10


def embeddings(c: ModelConfig) -> Module:
    positions = c.dim("max_2d_position_embeddings", default=1024)
    place = Embedding(positions, c.dim("coordinate_size", default=128), kind="position")
    size = Embedding(positions, c.dim("shape_size", default=128), kind="position")
    module = encoders.embeddings(c, "LayoutLMv3Text")
    module.children |= {
        "x_position_embeddings": place,
        "y_position_embeddings": place,
        "h_position_embeddings": size,
        "w_position_embeddings": size,
    }
    return module


def _patch(c: ModelConfig) -> tuple[Dim, Dim]:
    sizes = c.dims("patch_size", default=[16])
    if len(sizes) > 2 or not sizes:
        raise c.error("patch_size", list(map(int, sizes)), "one size or two")
    return sizes[0], sizes[-1]


def encoder(c: ModelConfig) -> Module:
    heads, kind = c.dim("num_attention_heads"), "relative_position"
    module = encoders.encoder(c, _NAME)
    along = Linear(c.dim("rel_pos_bins", default=32), heads, bias=False,
                   component=Component.ATTENTION, kind=kind)  # fmt: skip
    across = Linear(c.dim("rel_2d_pos_bins", default=64), heads, bias=False,
                    component=Component.ATTENTION, kind=kind)  # fmt: skip
    if c.flag("has_relative_attention_bias", default=True):
        module.children["rel_pos_bias"] = along
    if c.flag("has_spatial_attention_bias", default=True):
        module.children |= {"rel_pos_x_bias": across, "rel_pos_y_bias": across}
    return module


def model(c: ModelConfig) -> Module:
    h, patch = hidden(c), _patch(c)
    side = c.dim("input_size", default=224) // patch[0]
    seen = c.flag("visual_embed", default=True)
    project = Conv(
        c.dim("num_channels", default=3), h, patch, component=Component.EMBEDDING, kind="patch"
    )
    image: dict[str, Module | None] = {
        "patch_embed": Module("LayoutLMv3PatchEmbeddings", proj=project, part="vision"),
        "pos_drop": Dropout(0.0),
        "LayerNorm": norm(c),
        "dropout": dropout(c),
        "norm": LayerNorm(h, eps=1e-6),
    }
    return Module(
        "LayoutLMv3Model",
        {
            "cls_token": Weight(1, 1, h, component=Component.EMBEDDING, kind="class_token")
            if seen
            else None,
            "pos_embed": Weight(
                1, side * side + 1, h, component=Component.EMBEDDING, kind="position"
            )
            if seen
            else None,
            "embeddings": embeddings(c) if c.flag("text_embed", default=True) else None,
            **(image if seen else {}),
            "encoder": encoder(c),
        },
    )


def _head(c: ModelConfig) -> Module:
    return encoders.roberta_classifier(c, _NAME)


def _token_head(c: ModelConfig) -> Module:
    return labels(c) if c.num_labels < _MANY_LABELS else _head(c)


_CLASSES = composed(
    {
        "LayoutLMv3ForTokenClassification": {
            "layoutlmv3": model,
            "dropout": dropout,
            "classifier": _token_head,
        },
        "LayoutLMv3Model": model,
        "LayoutLMv3ForQuestionAnswering": {"layoutlmv3": model, "qa_outputs": _head},
        "LayoutLMv3ForSequenceClassification": {"layoutlmv3": model, "classifier": _head},
    }
)

register(
    "layoutlmv3",
    with_defaults({**BASE, "vocab_size": 50265, "layer_norm_eps": 1e-5}, _CLASSES),
    base_prefix="layoutlmv3",
    category="multimodal",
)
