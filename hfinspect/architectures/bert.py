"""BERT (Devlin et al. 2018). Source of shapes: transformers/models/bert/modeling_bert.py.

The embeddings hold three tables and a norm; a layer is attention with biases and a two-matrix MLP,
each followed by its norm (post-norm).  The pooler belongs to the heads.  Configs of this model_type
that bring the code of ``mosaic_bert`` get that file's tensors.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, labels, one_label
from ..trees.catalog import Builder, register
from ..trees.modules import Module
from . import mosaic_bert

_NAME = "Bert"


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    return Module(
        "BertModel",
        embeddings=encoders.embeddings(c, _NAME),
        encoder=encoders.encoder(c, _NAME, cross=True),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def _words(c: ModelConfig, *, sentences: bool = False) -> Module:
    table = "bert.embeddings.word_embeddings.weight"
    return encoders.bert_mlm_head(c, _NAME, table=table, sentences=sentences)


_CLASSES = composed(
    {
        "BertForMaskedLM": {"bert": _bare, "cls": _words},
        "BertModel": model,
        "BertForPreTraining": {"bert": model, "cls": lambda c: _words(c, sentences=True)},
        "BertLMHeadModel": {"bert": _bare, "cls": _words},
        "BertForNextSentencePrediction": {
            "bert": model,
            "cls": lambda c: encoders.next_sentence_head(c, _NAME),
        },
        "BertForSequenceClassification": {"bert": model, "dropout": dropout, "classifier": labels},
        "BertForMultipleChoice": {"bert": model, "dropout": dropout, "classifier": one_label},
        "BertForTokenClassification": {"bert": _bare, "dropout": dropout, "classifier": labels},
        "BertForQuestionAnswering": {"bert": _bare, "qa_outputs": labels},
    }
)


def _either(plain: Builder, other: Builder) -> Builder:
    def build(c: ModelConfig) -> Module:
        return other(c) if mosaic_bert.is_mosaic(c) else plain(c)

    return build


_PLAIN = with_defaults(BASE, _CLASSES)

register(
    "bert",
    {
        name: _either(build, mosaic_bert.CLASSES[name]) if name in mosaic_bert.CLASSES else build
        for name, build in _PLAIN.items()
    },
    base="BertModel",
    base_prefix="bert",
    category="encoder",
)
