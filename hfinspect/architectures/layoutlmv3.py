"""LayoutLMv3 (Huang et al. 2022). Source: transformers/models/layoutlmv3/modeling_layoutlmv3.py.

RoBERTa's layers over words, their place on the page, and patches of the page's image; relative
positions along the text and on the page are biases of all layers' attention.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder, Forms, bert_forms, first_token
from ..layers.encoders import BASE, dropout, hidden, labels, norm
from ..layers.vision import pair
from ..trees.modules import Conv, Dropout, Embedding, LayerNorm, Linear, Module, Weight

#: With this many labels and more, tokens get a head of two layers (modeling_layoutlmv3.py).
_MANY_LABELS = 10


def _tables(_e: Encoder, c: ModelConfig) -> Module:
    positions = c.dim("max_2d_position_embeddings", default=1024)
    place = Embedding(positions, c.dim("coordinate_size", default=128), kind="position")
    size = Embedding(positions, c.dim("shape_size", default=128), kind="position")
    module = encoders.embeddings(c, "LayoutLMv3Text")
    tables = {"x": place, "y": place, "h": size, "w": size}
    module.children |= {f"{at}_position_embeddings": table for at, table in tables.items()}
    return module


def _stack(e: Encoder, c: ModelConfig) -> Module:
    module, heads = encoders.encoder(c, e.name), c.dim("num_attention_heads")

    def biases(key: str, bins: int) -> Module:
        attention, kind = Component.ATTENTION, "relative_position"
        return Linear(c.dim(key, default=bins), heads, False, component=attention, kind=kind)

    along, across = biases("rel_pos_bins", 32), biases("rel_2d_pos_bins", 64)
    if c.flag("has_relative_attention_bias", default=True):
        module.children["rel_pos_bias"] = along
    if c.flag("has_spatial_attention_bias", default=True):
        module.children |= {"rel_pos_x_bias": across, "rel_pos_y_bias": across}
    return module


def _whole(e: Encoder, c: ModelConfig) -> Module:
    h, patch = hidden(c), pair(c, "patch_size", default=16)
    side = c.dim("input_size", default=224) // patch[0]
    seen = c.flag("visual_embed", default=True)
    channels = c.dim("num_channels", default=3)
    project = Conv(channels, h, patch, component=Component.EMBEDDING, kind="patch")
    table = Component.EMBEDDING
    first = {
        "cls_token": Weight(1, 1, h, component=table, kind="class_token"),
        "pos_embed": Weight(1, side * side + 1, h, component=table, kind="position"),
    }
    image = {
        "patch_embed": Module("LayoutLMv3PatchEmbeddings", proj=project, part="vision"),
        "pos_drop": Dropout(0.0),
        "LayerNorm": norm(c),
        "dropout": dropout(c),
        "norm": LayerNorm(h, eps=1e-6),
    }
    return Module(
        "LayoutLMv3Model",
        {
            **(first if seen else {}),
            "embeddings": e.embeddings(e, c) if c.flag("text_embed", default=True) else None,
            **(image if seen else {}),
            "encoder": e.encoder(e, c),
        },
    )


def _forms(e: Encoder) -> Forms:
    def tokens(c: ModelConfig) -> Module:
        few = c.num_labels < _MANY_LABELS
        return labels(c) if few else encoders.roberta_classifier(c, e.name)

    text = first_token(e)
    return {
        "ForTokenClassification": {**bert_forms(e)["ForTokenClassification"], "classifier": tokens},
        "ForQuestionAnswering": {"layoutlmv3": e.bare, "qa_outputs": text["classifier"]},
        "ForSequenceClassification": text,
    }


Encoder(
    "LayoutLMv3", "layoutlmv3", {**BASE, "vocab_size": 50265, "layer_norm_eps": 1e-5},
    embeddings=_tables, encoder=_stack, whole=_whole, forms=_forms,
).register("layoutlmv3", category="multimodal")  # fmt: skip
