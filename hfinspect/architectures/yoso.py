"""YOSO (Zeng et al. 2021). Source of shapes: transformers/models/yoso/modeling_yoso.py.

BERT whose attention samples by hashing, which costs no tensors. Two rows of the position table
belong to no position.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.composing import with_defaults
from ..layers.encoders import BASE, hidden, one_label, usual_classes
from ..layers.heads import classifier
from ..trees.catalog import register
from ..trees.modules import Buffer, Conv, Embedding, Linear, Module

_DEFAULTS = {**BASE, "vocab_size": 50265, "max_position_embeddings": 4096, "type_vocab_size": 1}

#: Positions begin here (YosoEmbeddings, MraEmbeddings).
_OFFSET = 2


def register_sampled(name: str, prefix: str, defaults: dict[str, object], *, saved: bool) -> None:
    """``saved``: files hold the positions as a tensor."""

    def attention(c: ModelConfig) -> Module:
        block = encoders.attention(c, name)
        inner = block["self"]
        assert isinstance(inner, Module)
        if c.has("conv_window"):
            heads, window = c.dim("num_attention_heads"), c.dim("conv_window")
            inner.children["conv"] = Conv(heads, heads, (window, 1), groups=heads, bias=False)
        return block

    def model(c: ModelConfig) -> Module:
        table = encoders.embeddings(c, name)
        positions: Dim = c.dim("max_position_embeddings") + _OFFSET
        table.children["position_embeddings"] = Embedding(positions, hidden(c), kind="position")
        table.children["position_ids"] = Buffer(
            1, c.dim("max_position_embeddings"), dtype="I64", saved=saved
        )
        block = Module(
            f"{name}Layer",
            attention=attention(c),
            intermediate=encoders.intermediate(c, name),
            output=encoders.output(c, name),
        )
        return Module(f"{name}Model", embeddings=table, encoder=encoders.encoder(c, name, block))

    def words(c: ModelConfig) -> Module:
        return encoders.bert_mlm_head(c, name, table=f"{prefix}.embeddings.word_embeddings.weight")

    def head(c: ModelConfig) -> Module:
        return encoders.roberta_classifier(c, name)

    def pre_classifier(c: ModelConfig) -> Module:
        return Linear(hidden(c), hidden(c), component=Component.HEAD, kind="classifier")

    classes = usual_classes(
        name,
        prefix,
        model,
        words=words,
        more={
            "ForSequenceClassification": {prefix: model, "classifier": head},
            # The class sets num_labels to 2: start and end.
            "ForQuestionAnswering": {
                prefix: model,
                "qa_outputs": lambda c: classifier(hidden(c), 2),
            },
            "ForMultipleChoice": {
                prefix: model,
                "pre_classifier": pre_classifier,
                "classifier": one_label,
            },
        },
    )
    register(
        prefix,
        with_defaults(defaults, classes),
        base=f"{name}Model",
        base_prefix=prefix,
        category="encoder",
    )


register_sampled("Yoso", "yoso", _DEFAULTS, saved=False)
