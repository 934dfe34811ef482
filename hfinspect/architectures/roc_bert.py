"""RoCBert (Su et al. 2022): BERT for Chinese that also embeds each character's sound and shape
(transformers/models/roc_bert)."""

from ..layers import encoders
from ..layers.bert_encoders import Encoder, tables
from ..trees import Embedding, Linear, ModelConfig, Module
from .bert import BERT


def _embeddings(e: Encoder, c: ModelConfig) -> Module:
    sound = c.dim("pronunciation_embed_dim", default=768)
    shape = c.dim("shape_embed_dim", default=512)
    inputs = h = encoders.hidden(c)
    for key, width in {"enable_pronunciation": sound, "enable_shape": shape}.items():
        inputs = inputs + width if c.flag(key, default=True) else inputs
    joined = c.flag("concat_input", default=True)
    return tables(e, c).adding(
        pronunciation_embed=Embedding(c.dim("pronunciation_vocab_size", default=910), sound),
        shape_embed=Embedding(c.dim("shape_vocab_size", default=24858), shape),
        map_inputs_layer=Linear(inputs, h, kind="token") if joined else None,
    )


# Attention to another model's states has the class of the layer's own.
_ROC = BERT.like(
    "RoCBert",
    "roc_bert",
    embeddings=_embeddings,
    attention=lambda e, c: encoders.attention(c, e.name),
)
_WORDS = _ROC.forms(_ROC)["ForMaskedLM"]
_TRAINED = {"roc_bert": _ROC.model, "cls": _WORDS["cls"]}
_ROC.register("roc_bert", more={"ForCausalLM": _WORDS, "ForPreTraining": _TRAINED})
