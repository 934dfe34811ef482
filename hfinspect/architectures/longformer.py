"""Longformer (Beltagy et al. 2020). Source: transformers/models/longformer/modeling_longformer.py.

RoBERTa with a second set of query, key and value projections for the tokens that attend globally;
the window of the others costs no tensors.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels, one_label
from ..trees.catalog import register
from ..trees.modules import Linear, Module

_NAME = "Longformer"


def _attention(c: ModelConfig) -> Module:
    block, h = encoders.attention(c, _NAME), hidden(c)
    projections = block["self"]
    assert isinstance(projections, Module)
    for kind in ("query", "key", "value"):
        projections.children[f"{kind}_global"] = Linear(h, h, kind=kind)
    return block


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    block = encoders.layer(c, _NAME, attention_block=_attention(c))
    return Module(
        "LongformerModel",
        embeddings=encoders.embeddings(c, _NAME),
        encoder=encoders.encoder(c, _NAME, block),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def _lm_head(c: ModelConfig) -> Module:
    return encoders.roberta_lm_head(c, _NAME, table="longformer.embeddings.word_embeddings.weight")


def _classification_head(c: ModelConfig) -> Module:
    return encoders.roberta_classifier(c, _NAME)


_CLASSES = composed(
    {
        "LongformerForMaskedLM": {"longformer": _bare, "lm_head": _lm_head},
        "LongformerModel": model,
        "LongformerForSequenceClassification": {
            "longformer": _bare,
            "classifier": _classification_head,
        },
        "LongformerForQuestionAnswering": {"longformer": _bare, "qa_outputs": labels},
        "LongformerForTokenClassification": {
            "longformer": _bare,
            "dropout": dropout,
            "classifier": labels,
        },
        "LongformerForMultipleChoice": {
            "longformer": model,
            "dropout": dropout,
            "classifier": one_label,
        },
    }
)

register(
    "longformer",
    with_defaults(BASE, _CLASSES),
    base="LongformerModel",
    base_prefix="longformer",
    category="encoder",
)
