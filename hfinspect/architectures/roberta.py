"""RoBERTa (Liu et al. 2019). Source of shapes: transformers/models/roberta/modeling_roberta.py.

BERT's layers; positions begin after the padding index, so the table holds two more rows than the
longest text.  The LM head is one dense layer and a norm; classifiers take the first token.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, labels, one_label
from ..trees.catalog import register
from ..trees.modules import Module

_NAME = "Roberta"


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    return Module(
        "RobertaModel",
        embeddings=encoders.embeddings(c, _NAME),
        encoder=encoders.encoder(c, _NAME, cross=True),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def _lm_head(c: ModelConfig) -> Module:
    return encoders.roberta_lm_head(c, _NAME, table="roberta.embeddings.word_embeddings.weight")


def _classification_head(c: ModelConfig) -> Module:
    return encoders.roberta_classifier(c, _NAME)


#: Under the names of RoBERTa; its descendants rename them.
CLASSES = composed(
    {
        "RobertaForMaskedLM": {"roberta": _bare, "lm_head": _lm_head},
        "RobertaModel": model,
        "RobertaForCausalLM": {"roberta": _bare, "lm_head": _lm_head},
        "RobertaForSequenceClassification": {"roberta": _bare, "classifier": _classification_head},
        "RobertaForMultipleChoice": {"roberta": model, "dropout": dropout, "classifier": one_label},
        "RobertaForTokenClassification": {
            "roberta": _bare,
            "dropout": dropout,
            "classifier": labels,
        },
        "RobertaForQuestionAnswering": {"roberta": _bare, "qa_outputs": labels},
    }
)

register(
    "roberta",
    with_defaults({**BASE, "vocab_size": 50265}, CLASSES),
    base="RobertaModel",
    base_prefix="roberta",
    category="encoder",
)
