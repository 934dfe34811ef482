"""TAPAS (Herzig et al. 2020). Source of shapes: transformers/models/tapas/modeling_tapas.py.

BERT over tables: seven kinds of token types (row, column, rank ...), and heads that pick cells and
an aggregation.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels
from ..layers.heads import classifier
from ..trees.catalog import register
from ..trees.modules import Embedding, Module, Parameter, Weight

_NAME = "Tapas"
_TYPES = (3, 256, 256, 2, 256, 256, 10)
_DEFAULTS = {
    **{key: value for key, value in BASE.items() if key != "type_vocab_size"},
    "max_position_embeddings": 1024,
}


def embeddings(c: ModelConfig) -> Module:
    h = hidden(c)
    sizes = c.dims("type_vocab_sizes", default=_TYPES)
    types = {
        f"token_type_embeddings_{i}": Embedding(size, h, kind="segment")
        for i, size in enumerate(sizes)
    }
    return Module(
        "TapasEmbeddings",
        {
            "word_embeddings": Embedding(encoders.vocab(c), h),
            "position_embeddings": Embedding(c.dim("max_position_embeddings"), h, kind="position"),
            **types,
            "LayerNorm": encoders.norm(c),
            "dropout": dropout(c),
        },
        component=Component.EMBEDDING,
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    block = encoders.layer(c, _NAME, cross=True)
    if encoders.is_cross(c):
        block.children["crossattention"] = encoders.attention(c, _NAME)
    return Module(
        "TapasModel",
        embeddings=embeddings(c),
        encoder=encoders.encoder(c, _NAME, block),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def _words(c: ModelConfig) -> Module:
    table = "tapas.embeddings.word_embeddings.weight"
    return encoders.bert_mlm_head(c, _NAME, table=table)


def _cell_weight(c: ModelConfig) -> Parameter:
    return Weight(hidden(c), component=Component.HEAD, kind="classifier")


def _cell_bias(_: ModelConfig) -> Parameter:
    return Weight(component=Component.HEAD, kind="classifier")


def _aggregation(c: ModelConfig) -> Module | None:
    count = c.dim("num_aggregation_labels", default=0, minimum=0)
    return classifier(hidden(c), count) if count else None


_CLASSES = composed(
    {
        "TapasForQuestionAnswering": {
            "output_weights": _cell_weight,
            "column_output_weights": _cell_weight,
            "output_bias": _cell_bias,
            "column_output_bias": _cell_bias,
            "tapas": model,
            "dropout": dropout,
            "aggregation_classifier": _aggregation,
        },
        "TapasModel": model,
        "TapasForMaskedLM": {"tapas": _bare, "cls": _words},
        "TapasForSequenceClassification": {
            "tapas": model,
            "dropout": dropout,
            "classifier": labels,
        },
    }
)

register(
    "tapas",
    with_defaults(_DEFAULTS, _CLASSES),
    base="TapasModel",
    base_prefix="tapas",
    category="encoder",
)
