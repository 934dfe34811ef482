"""LayoutLMv3 (Huang et al. 2022): RoBERTa's layers over words, their place on the page, and patches
of its image. Source of shapes: transformers/models/layoutlmv3/modeling_layoutlmv3.py."""

from ..layers import encoders
from ..layers.bert_encoders import Encoder, bert_forms, first_token
from ..layers.composing import Forms
from ..layers.encoders import BASE, dropout, hidden, labels, norm
from ..layers.vision import pair
from ..trees import Component, Conv, Dropout, LayerNorm, ModelConfig, Module, Weight


def _tables(_e: Encoder, c: ModelConfig) -> Module:
    corner, size = (c.dim(f"{what}_size", default=128) for what in ("coordinate", "shape"))
    tables = encoders.page_tables(c, corner, size)
    return encoders.embeddings(c, "LayoutLMv3Text").adding(**tables)


def _whole(e: Encoder, c: ModelConfig) -> Module:
    h = hidden(c)
    patch = pair(c, "patch_size", default=16)
    table = Component.EMBEDDING
    side = c.dim("input_size", default=224) // patch[0]
    project = Conv(c.dim("num_channels", default=3), h, patch, component=table, kind="patch")
    root = Module(
        "LayoutLMv3Model",
        cls_token=Weight(1, 1, h, component=table, kind="class_token"),
        pos_embed=Weight(1, side * side + 1, h, component=table, kind="position"),
        embeddings=e.embeddings(e, c) if c.flag("text_embed", default=True) else None,
        patch_embed=Module("LayoutLMv3PatchEmbeddings", proj=project, part="vision"),
        pos_drop=Dropout(0.0),
        LayerNorm=norm(c),
        dropout=dropout(c),
        norm=LayerNorm(h, eps=1e-6),
        encoder=encoders.add_page_biases(c, encoders.encoder(c, e.name), along=True),
    )
    if c.flag("visual_embed", default=True):
        return root
    return root.without(*(set(root.children) - {"embeddings", "encoder"}))


def _forms(e: Encoder) -> Forms:
    def tokens(c: ModelConfig) -> Module:
        # With ten labels and more a head of two layers (modeling_layoutlmv3.py).
        return labels(c) if c.num_labels < 10 else encoders.roberta_classifier(c, e.name)

    text = first_token(e)
    return {
        "ForTokenClassification": {**bert_forms(e)["ForTokenClassification"], "classifier": tokens},
        "ForQuestionAnswering": {"layoutlmv3": e.bare, "qa_outputs": text["classifier"]},
        "ForSequenceClassification": text,
    }


_DEFAULTS = {**BASE, "vocab_size": 50265, "layer_norm_eps": 1e-5}
Encoder(
    "LayoutLMv3", "layoutlmv3", _DEFAULTS, embeddings=_tables, make_model=_whole, forms=_forms
).register("layoutlmv3", category="multimodal")
