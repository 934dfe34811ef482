"""RoCBert (Su et al. 2022). Source of shapes: transformers/models/roc_bert/modeling_roc_bert.py.

BERT for Chinese that also embeds each character's sound and shape; a linear layer maps them all to
the hidden size.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import with_defaults
from ..layers.encoders import BASE, hidden, usual_classes
from ..trees.catalog import register
from ..trees.modules import Embedding, Linear, Module

_NAME = "RoCBert"


def embeddings(c: ModelConfig) -> Module:
    sound = c.dim("pronunciation_embed_dim", default=768)
    shape = c.dim("shape_embed_dim", default=512)
    inputs = hidden(c)
    if c.flag("enable_pronunciation", default=True):
        inputs = inputs + sound
    if c.flag("enable_shape", default=True):
        inputs = inputs + shape
    module = encoders.embeddings(c, _NAME)
    module.children |= {
        "pronunciation_embed": Embedding(c.dim("pronunciation_vocab_size", default=910), sound),
        "shape_embed": Embedding(c.dim("shape_vocab_size", default=24858), shape),
    }
    if c.flag("concat_input", default=True):
        module.children["map_inputs_layer"] = Linear(inputs, hidden(c), kind="token")
    return module


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    block = encoders.layer(c, _NAME, cross=True)
    if encoders.is_cross(c):
        block.children["crossattention"] = encoders.attention(c, _NAME)
    return Module(
        "RoCBertModel",
        embeddings=embeddings(c),
        encoder=encoders.encoder(c, _NAME, block),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def _words(c: ModelConfig) -> Module:
    table = "roc_bert.embeddings.word_embeddings.weight"
    return encoders.bert_mlm_head(c, _NAME, table=table)


register(
    "roc_bert",
    with_defaults(
        BASE,
        usual_classes(
            _NAME,
            "roc_bert",
            model,
            bare=_bare,
            words=_words,
            more={
                "ForCausalLM": {"roc_bert": _bare, "cls": _words},
                "ForPreTraining": {"roc_bert": model, "cls": _words},
            },
        ),
    ),
    base="RoCBertModel",
    base_prefix="roc_bert",
    category="encoder",
)
