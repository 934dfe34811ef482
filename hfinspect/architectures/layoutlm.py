"""LayoutLM (Xu et al. 2019). Source of shapes: transformers/models/layoutlm/modeling_layoutlm.py.

BERT whose embeddings also place each word on the page: left/right and upper/lower edge, height
and width.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels
from ..trees.catalog import register
from ..trees.modules import Embedding, Module

_NAME = "LayoutLM"


def model(c: ModelConfig) -> Module:
    table = Embedding(c.dim("max_2d_position_embeddings", default=1024), hidden(c), kind="position")
    page = {f"{axis}_position_embeddings": table for axis in "xyhw"}
    return Module(
        "LayoutLMModel",
        embeddings=encoders.embeddings(c, _NAME, more=page),
        encoder=encoders.encoder(c, _NAME),
        pooler=encoders.pooler(c, _NAME),
    )


def _mlm_head(c: ModelConfig) -> Module:
    table = "layoutlm.embeddings.word_embeddings.weight"
    return encoders.bert_mlm_head(c, _NAME, table=table)


_CLASSES = composed(
    {
        "LayoutLMForMaskedLM": {"layoutlm": model, "cls": _mlm_head},
        "LayoutLMModel": model,
        "LayoutLMForSequenceClassification": {
            "layoutlm": model,
            "dropout": dropout,
            "classifier": labels,
        },
        "LayoutLMForTokenClassification": {
            "layoutlm": model,
            "dropout": dropout,
            "classifier": labels,
        },
        "LayoutLMForQuestionAnswering": {"layoutlm": model, "qa_outputs": labels},
    }
)

register(
    "layoutlm",
    with_defaults(BASE, _CLASSES),
    base="LayoutLMModel",
    base_prefix="layoutlm",
    category="encoder",
)
