"""ERNIE 1 to 3 (Sun et al. 2019): BERT, with a table of task types where ``use_task_id`` is set
(transformers/models/ernie)."""

from ..layers.bert_encoders import Encoder, pre_training, tables
from ..layers.encoders import hidden
from ..trees import Embedding, ModelConfig, Module
from .bert import BERT


def _embeddings(e: Encoder, c: ModelConfig) -> Module:
    if not c.flag("use_task_id", default=False):
        return tables(e, c)
    tasks = Embedding(c.dim("task_type_vocab_size", default=3), hidden(c), kind="segment")
    return tables(e, c).adding(task_type_embeddings=tasks)


_ERNIE = BERT.like("Ernie", "ernie", embeddings=_embeddings)
_WORDS = {"ForCausalLM": _ERNIE.forms(_ERNIE)["ForMaskedLM"]}
_ERNIE.register("ernie", more={**_WORDS, **pre_training(_ERNIE)})
