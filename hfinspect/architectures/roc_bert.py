"""RoCBert (Su et al. 2022). Source of shapes: transformers/models/roc_bert/modeling_roc_bert.py.

BERT for Chinese that also embeds each character's sound and shape; a linear layer maps them all to
the hidden size.
"""

from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder, bert_layer, tables
from ..layers.encoders import hidden
from ..trees.modules import Embedding, Linear, Module
from .bert import BERT


def _embeddings(e: Encoder, c: ModelConfig) -> Module:
    sound = c.dim("pronunciation_embed_dim", default=768)
    shape = c.dim("shape_embed_dim", default=512)
    inputs = hidden(c)
    if c.flag("enable_pronunciation", default=True):
        inputs = inputs + sound
    if c.flag("enable_shape", default=True):
        inputs = inputs + shape
    module = tables(e, c)
    module.children |= {
        "pronunciation_embed": Embedding(c.dim("pronunciation_vocab_size", default=910), sound),
        "shape_embed": Embedding(c.dim("shape_vocab_size", default=24858), shape),
    }
    if c.flag("concat_input", default=True):
        module.children["map_inputs_layer"] = Linear(inputs, hidden(c), kind="token")
    return module


def _layer(e: Encoder, c: ModelConfig) -> Module:
    """Attention to another model's states has the class of the layer's own."""
    block = bert_layer(e, c)
    if encoders.is_cross(c):
        block.children["crossattention"] = encoders.attention(c, e.name)
    return block


_ROC = BERT.like("RoCBert", "roc_bert", embeddings=_embeddings, layer=_layer)
_WORDS = _ROC.forms(_ROC)["ForMaskedLM"]
_ROC.register(
    "roc_bert",
    more={
        "ForCausalLM": _WORDS,
        "ForPreTraining": {"roc_bert": _ROC.model, "cls": _WORDS["cls"]},
    },
)
