"""ERNIE 1 to 3 (Sun et al. 2019). Source of shapes: transformers/models/ernie/modeling_ernie.py.

BERT, with a table of task types where ``use_task_id`` is set.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels, one_label
from ..trees.catalog import register
from ..trees.modules import Embedding, Module

_NAME = "Ernie"


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    embeddings = encoders.embeddings(c, _NAME)
    if c.flag("use_task_id", default=False):
        tasks = c.dim("task_type_vocab_size", default=3)
        embeddings.children["task_type_embeddings"] = Embedding(tasks, hidden(c), kind="segment")
    return Module(
        "ErnieModel",
        embeddings=embeddings,
        encoder=encoders.encoder(c, _NAME, cross=True),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def _words(c: ModelConfig, *, sentences: bool = False) -> Module:
    table = "ernie.embeddings.word_embeddings.weight"
    return encoders.bert_mlm_head(c, _NAME, table=table, sentences=sentences)


_CLASSES = composed(
    {
        "ErnieForMaskedLM": {"ernie": _bare, "cls": _words},
        "ErnieModel": model,
        "ErnieForPreTraining": {"ernie": model, "cls": lambda c: _words(c, sentences=True)},
        "ErnieForCausalLM": {"ernie": _bare, "cls": _words},
        "ErnieForNextSentencePrediction": {
            "ernie": model,
            "cls": lambda c: encoders.next_sentence_head(c, _NAME),
        },
        "ErnieForSequenceClassification": {
            "ernie": model,
            "dropout": dropout,
            "classifier": labels,
        },
        "ErnieForMultipleChoice": {"ernie": model, "dropout": dropout, "classifier": one_label},
        "ErnieForTokenClassification": {"ernie": _bare, "dropout": dropout, "classifier": labels},
        "ErnieForQuestionAnswering": {"ernie": _bare, "qa_outputs": labels},
    }
)

register(
    "ernie",
    with_defaults(BASE, _CLASSES),
    base="ErnieModel",
    base_prefix="ernie",
    category="encoder",
)
