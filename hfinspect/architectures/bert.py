"""BERT (Devlin et al. 2018). Source of shapes: transformers/models/bert/modeling_bert.py.

The embeddings hold three tables and a norm; a layer is attention with biases and a two-matrix MLP,
each followed by its norm (post-norm).  The pooler belongs to the heads.  Configs of this model_type
that bring the code of ``mosaic_bert`` get that file's tensors.
"""

from ..core.config import ModelConfig
from ..layers.bert_encoders import Encoder, pre_training
from ..layers.encoders import BASE
from ..trees.catalog import Builder, register
from ..trees.modules import Module

BERT = Encoder("Bert", "bert", BASE, cross=True)


def _either(name: str, plain: Builder) -> Builder:
    """The class of MosaicBERT's code (mosaic_bert.py) where the config means it."""

    def build(c: ModelConfig) -> Module:
        if c.brings("bert_layers."):
            from . import mosaic_bert

            return mosaic_bert.CLASSES.get(name, plain)(c)
        return plain(c)

    return build


_CLASSES = BERT.classes({"LMHeadModel": BERT.forms(BERT)["ForMaskedLM"], **pre_training(BERT)})

register(
    "bert",
    {name: _either(name, build) for name, build in _CLASSES.items()},
    base="BertModel",
    base_prefix="bert",
    category="encoder",
)
