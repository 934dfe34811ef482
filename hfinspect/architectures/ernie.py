"""ERNIE 1 to 3 (Sun et al. 2019). Source of shapes: transformers/models/ernie/modeling_ernie.py.

BERT, with a table of task types where ``use_task_id`` is set.
"""

from ..core.config import ModelConfig
from ..layers.bert_encoders import Encoder, pre_training, tables
from ..layers.encoders import hidden
from ..trees.modules import Embedding, Module
from .bert import BERT


def _embeddings(e: Encoder, c: ModelConfig) -> Module:
    block = tables(e, c)
    if c.flag("use_task_id", default=False):
        tasks = c.dim("task_type_vocab_size", default=3)
        block.children["task_type_embeddings"] = Embedding(tasks, hidden(c), kind="segment")
    return block


_ERNIE = BERT.like("Ernie", "ernie", embeddings=_embeddings)
_ERNIE.register(
    "ernie", more={"ForCausalLM": _ERNIE.forms(_ERNIE)["ForMaskedLM"], **pre_training(_ERNIE)}
)
