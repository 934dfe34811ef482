"""data2vec for text (Baevski et al. 2022).

Source of shapes: transformers/models/data2vec/modeling_data2vec_text.py. RoBERTa's tensors.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, labels, one_label
from ..trees.catalog import register
from ..trees.modules import Module

_NAME = "Data2VecText"
_TABLE = "data2vec_text.embeddings.word_embeddings.weight"


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    return Module(
        "Data2VecTextModel",
        embeddings=encoders.embeddings(c, _NAME),
        encoder=encoders.encoder(c, _NAME, cross=True),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def _lm_head(c: ModelConfig) -> Module:
    return encoders.roberta_lm_head(c, _NAME, table=_TABLE)


def _classification_head(c: ModelConfig) -> Module:
    return encoders.roberta_classifier(c, _NAME)


_CLASSES = composed(
    {
        "Data2VecTextForMaskedLM": {"data2vec_text": _bare, "lm_head": _lm_head},
        "Data2VecTextModel": model,
        "Data2VecTextForCausalLM": {"data2vec_text": _bare, "lm_head": _lm_head},
        "Data2VecTextForSequenceClassification": {
            "data2vec_text": _bare,
            "classifier": _classification_head,
        },
        "Data2VecTextForMultipleChoice": {
            "data2vec_text": model,
            "dropout": dropout,
            "classifier": one_label,
        },
        "Data2VecTextForTokenClassification": {
            "data2vec_text": _bare,
            "dropout": dropout,
            "classifier": labels,
        },
        "Data2VecTextForQuestionAnswering": {"data2vec_text": _bare, "qa_outputs": labels},
    }
)

register(
    "data2vec-text",
    with_defaults(BASE, _CLASSES),
    base="Data2VecTextModel",
    base_prefix="data2vec_text",
    category="encoder",
)
