"""Nystromformer (Xiong et al. 2021). Source: transformers/models/nystromformer.

BERT whose attention goes through landmarks, which cost no tensors, and a convolution of the values,
which does. Two rows of the position table belong to no position.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import with_defaults
from ..layers.encoders import BASE, hidden, one_label, usual_classes
from ..layers.heads import classifier
from ..trees.catalog import register
from ..trees.modules import Conv, Embedding, Linear, Module

_NAME = "Nystromformer"
_DEFAULTS = {
    **BASE, "vocab_size": 30000, "max_position_embeddings": 510, "hidden_act": "gelu_new",
    "layer_norm_eps": 1e-5,
}  # fmt: skip

#: Positions begin here (NystromformerEmbeddings).
_OFFSET = 2


def _attention(c: ModelConfig) -> Module:
    block, heads = encoders.attention(c, _NAME), c.dim("num_attention_heads")
    projections = block["self"]
    assert isinstance(projections, Module)
    if not ("conv_kernel_size" in c.values and c.raw("conv_kernel_size") is None):
        kernel = c.dim("conv_kernel_size", default=65)
        projections.children["conv"] = Conv(heads, heads, (kernel, 1), groups=heads, bias=False)
    return block


def model(c: ModelConfig) -> Module:
    embeddings = encoders.embeddings(c, _NAME)
    positions = c.dim("max_position_embeddings") + _OFFSET
    embeddings.children["position_embeddings"] = Embedding(positions, hidden(c), kind="position")
    block = Module(
        "NystromformerLayer",
        attention=_attention(c),
        intermediate=encoders.intermediate(c, _NAME),
        output=encoders.output(c, _NAME),
    )
    return Module(
        "NystromformerModel", embeddings=embeddings, encoder=encoders.encoder(c, _NAME, block)
    )


def _words(c: ModelConfig) -> Module:
    table = "nystromformer.embeddings.word_embeddings.weight"
    return encoders.bert_mlm_head(c, _NAME, table=table)


def _head(c: ModelConfig) -> Module:
    return encoders.roberta_classifier(c, _NAME)


def _ends(c: ModelConfig) -> Module:
    return classifier(hidden(c), 2)


def _pre_classifier(c: ModelConfig) -> Module:
    return Linear(hidden(c), hidden(c), component=Component.HEAD, kind="classifier")


register(
    "nystromformer",
    with_defaults(
        _DEFAULTS,
        usual_classes(
            _NAME,
            "nystromformer",
            model,
            words=_words,
            more={
                # The class sets num_labels to 2: start and end.
                "ForQuestionAnswering": {"nystromformer": model, "qa_outputs": _ends},
                "ForSequenceClassification": {"nystromformer": model, "classifier": _head},
                "ForMultipleChoice": {
                    "nystromformer": model,
                    "pre_classifier": _pre_classifier,
                    "classifier": one_label,
                },
            },
        ),
    ),
    base="NystromformerModel",
    base_prefix="nystromformer",
    category="encoder",
)
