"""MarkupLM (Li et al. 2021). Source of shapes: transformers/models/markuplm/modeling_markuplm.py.

BERT over web pages: each word's path through the markup is embedded tag by tag, depth by depth.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Linear, Module, ModuleList

_NAME = "MarkupLM"


def xpath_embeddings(c: ModelConfig) -> Module:
    h, unit = hidden(c), c.dim("xpath_unit_hidden_size", default=32)
    depth = c.count("max_depth", default=50)
    tags = Embedding(c.dim("max_xpath_tag_unit_embeddings", default=256), unit)
    subs = Embedding(c.dim("max_xpath_subs_unit_embeddings", default=1024), unit)
    return Module(
        "XPathEmbeddings",
        xpath_unitseq2_embeddings=Linear(unit * depth, h),
        dropout=dropout(c),
        activation=Activation("ReLU"),
        xpath_unitseq2_inner=Linear(unit * depth, 4 * h),
        inner2emb=Linear(4 * h, h),
        xpath_tag_sub_embeddings=ModuleList([tags] * int(depth)),
        xpath_subs_sub_embeddings=ModuleList([subs] * int(depth)),
        component=Component.EMBEDDING,
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    paths = {"xpath_embeddings": xpath_embeddings(c)}
    return Module(
        "MarkupLMModel",
        embeddings=encoders.embeddings(c, _NAME, more=paths),
        encoder=encoders.encoder(c, _NAME),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


_CLASSES = composed(
    {
        "MarkupLMModel": model,
        "MarkupLMForQuestionAnswering": {"markuplm": _bare, "qa_outputs": labels},
        "MarkupLMForTokenClassification": {
            "markuplm": _bare,
            "dropout": dropout,
            "classifier": labels,
        },
        "MarkupLMForSequenceClassification": {
            "markuplm": model,
            "dropout": dropout,
            "classifier": labels,
        },
    }
)

register(
    "markuplm",
    with_defaults(BASE, _CLASSES),
    base="MarkupLMModel",
    base_prefix="markuplm",
    category="encoder",
)
