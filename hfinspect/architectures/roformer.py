"""RoFormer (Su et al. 2021), the first with rotary positions. Source: transformers/models/roformer.

BERT's layers; the table of sines that rotates them is a fixed parameter, saved with the rest.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels, one_label, vocab
from ..layers.heads import classifier
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Linear, Module

_NAME = "RoFormer"
_DEFAULTS = {**BASE, "vocab_size": 50000, "max_position_embeddings": 1536}


def _width(c: ModelConfig) -> Dim:
    return c.dim("embedding_size", default=hidden(c))


def model(c: ModelConfig) -> Module:
    h, e = hidden(c), _width(c)
    heads = c.dim("num_attention_heads")
    head_dim = c.divided(h, heads, "hidden_size", "num_attention_heads")
    block = encoders.layer(c, _NAME, cross=True)
    if encoders.is_cross(c):
        block.children["crossattention"] = encoders.attention(c, _NAME)
    return Module(
        "RoFormerModel",
        embeddings=Module(
            "RoFormerEmbeddings",
            word_embeddings=Embedding(vocab(c), e),
            token_type_embeddings=Embedding(c.dim("type_vocab_size"), e, kind="segment"),
            LayerNorm=encoders.norm(c, e),
            dropout=dropout(c),
            component=Component.EMBEDDING,
        ),
        embeddings_project=Linear(e, h, component=Component.EMBEDDING, kind="token")
        if e != h
        else None,
        encoder=Module(
            "RoFormerEncoder",
            embed_positions=Embedding(
                c.dim("max_position_embeddings"),
                head_dim,
                kind="position",
                class_name="RoFormerSinusoidalPositionalEmbedding",
            ),
            layer=Layers.of(c.count("num_hidden_layers"), block),
        ),
    )


def _words(c: ModelConfig) -> Module:
    table = "roformer.embeddings.word_embeddings.weight"
    return encoders.bert_mlm_head(c, _NAME, table=table, width=_width(c))


def _classification_head(c: ModelConfig) -> Module:
    return encoders.roberta_classifier(c, _NAME)


def _summary(c: ModelConfig) -> Module:
    return encoders.sequence_summary(c, _NAME)


_CLASSES = composed(
    {
        "RoFormerForMaskedLM": {"roformer": model, "cls": _words},
        "RoFormerModel": model,
        "RoFormerForCausalLM": {"roformer": model, "cls": _words},
        "RoFormerForSequenceClassification": {
            "roformer": model,
            "classifier": _classification_head,
        },
        "RoFormerForMultipleChoice": {
            "roformer": model,
            "sequence_summary": _summary,
            "classifier": one_label,
        },
        "RoFormerForTokenClassification": {
            "roformer": model,
            "dropout": dropout,
            "classifier": labels,
        },
        "RoFormerForQuestionAnswering": {
            "roformer": model,
            "qa_outputs": lambda c: classifier(hidden(c), 2),
        },
    }
)

register("roformer", with_defaults(_DEFAULTS, _CLASSES), base_prefix="roformer", category="encoder")
