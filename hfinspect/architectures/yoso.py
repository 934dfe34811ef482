"""YOSO (Zeng et al. 2021). Source of shapes: transformers/models/yoso/modeling_yoso.py.

BERT whose attention samples by hashing, which costs no tensors. Two rows of the position table
belong to no position.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder, Forms, bert_forms, later_positions
from ..layers.encoders import BASE, hidden, one_label
from ..layers.heads import classifier
from ..trees.modules import Conv, Linear, Module

#: YOSO's own; the Nyströmformer's classes and MRA's are the same but for their attention.
_DEFAULTS = {**BASE, "vocab_size": 50265, "max_position_embeddings": 4096, "type_vocab_size": 1}


def window(e: Encoder, c: ModelConfig, key: str, default: int | None = None) -> Module:
    """BERT's layer, with a convolution over the values where the config has a window for it."""
    block = encoders.attention(c, e.name)
    inner, size = block["self"], c.optional_dim(key)
    if size is None and default is not None and not c.says(key):
        size = c.dim(key, default=default)
    if size is not None and isinstance(inner, Module):
        heads = c.dim("num_attention_heads")
        inner.children["conv"] = Conv(heads, heads, (size, 1), groups=heads, bias=False)
    return encoders.layer(c, e.name, attention_block=block)


def forms(e: Encoder) -> Forms:
    """The heads of encoders that sample or approximate their attention."""
    p = e.prefix

    def first_token(c: ModelConfig) -> Module:
        return encoders.roberta_classifier(c, e.name)

    def ends(c: ModelConfig) -> Module:
        return classifier(hidden(c), 2)  # whatever num_labels says: start and end

    def before(c: ModelConfig) -> Module:
        return Linear(hidden(c), hidden(c), component=Component.HEAD, kind="classifier")

    return {
        **bert_forms(e),
        "ForSequenceClassification": {p: e.model, "classifier": first_token},
        "ForQuestionAnswering": {p: e.model, "qa_outputs": ends},
        "ForMultipleChoice": {p: e.model, "pre_classifier": before, "classifier": one_label},
    }


YOSO = Encoder(
    "Yoso",
    "yoso",
    _DEFAULTS,
    pooling="never",
    embeddings=later_positions,
    layer=lambda e, c: window(e, c, "conv_window"),
    forms=forms,
).register("yoso")
