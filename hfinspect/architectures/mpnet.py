"""MPNet (Song et al. 2020). Source of shapes: transformers/models/mpnet/modeling_mpnet.py.

BERT's layers with one table of relative positions for all of them; no segments.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels, norm, one_label
from ..trees.catalog import register
from ..trees.modules import Dropout, Embedding, Layers, Linear, Module

_NAME = "MPNet"


def attention(c: ModelConfig) -> Module:
    h = hidden(c)
    c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    projections = Module(
        "MPNetSelfAttention",
        q=Linear(h, h, kind="query"),
        k=Linear(h, h, kind="key"),
        v=Linear(h, h, kind="value"),
        o=Linear(h, h, kind="output"),
        dropout=Dropout(c.number("attention_probs_dropout_prob", default=0.1)),
    )
    return Module(
        "MPNetAttention",
        attn=projections,
        LayerNorm=norm(c),
        dropout=dropout(c),
        component=Component.ATTENTION,
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    embeddings = encoders.embeddings(c, _NAME)
    del embeddings.children["token_type_embeddings"]
    block = Module(
        "MPNetLayer",
        attention=attention(c),
        intermediate=encoders.intermediate(c, _NAME),
        output=encoders.output(c, _NAME),
    )
    buckets = c.dim("relative_attention_num_buckets", default=32)
    return Module(
        "MPNetModel",
        embeddings=embeddings,
        encoder=Module(
            "MPNetEncoder",
            layer=Layers.of(c.count("num_hidden_layers"), block),
            relative_attention_bias=Embedding(
                buckets,
                c.dim("num_attention_heads"),
                component=Component.ATTENTION,
                kind="relative_position",
            ),
        ),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def _lm_head(c: ModelConfig) -> Module:
    return encoders.roberta_lm_head(c, _NAME, table="mpnet.embeddings.word_embeddings.weight")


def _classification_head(c: ModelConfig) -> Module:
    return encoders.roberta_classifier(c, _NAME)


_CLASSES = composed(
    {
        "MPNetModel": model,
        "MPNetForMaskedLM": {"mpnet": _bare, "lm_head": _lm_head},
        "MPNetForSequenceClassification": {"mpnet": _bare, "classifier": _classification_head},
        "MPNetForMultipleChoice": {"mpnet": model, "dropout": dropout, "classifier": one_label},
        "MPNetForTokenClassification": {"mpnet": _bare, "dropout": dropout, "classifier": labels},
        "MPNetForQuestionAnswering": {"mpnet": _bare, "qa_outputs": labels},
    }
)

register(
    "mpnet",
    with_defaults({**BASE, "vocab_size": 30527}, _CLASSES),
    base="MPNetModel",
    base_prefix="mpnet",
    category="encoder",
)
