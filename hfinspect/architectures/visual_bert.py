"""VisualBERT (Li et al. 2019). Source of shapes: transformers/models/visual_bert.

BERT that reads a picture's regions as words: a projection and tables of their own for what and
where they are.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels, one_label
from ..trees.catalog import register
from ..trees.modules import Embedding, Linear, Module

_NAME, _BERT = "VisualBert", "visual_bert"


def model(c: ModelConfig) -> Module:
    h = hidden(c)
    more = {
        "visual_token_type_embeddings": Embedding(c.dim("type_vocab_size"), h, kind="segment"),
        "visual_position_embeddings": Embedding(
            c.dim("max_position_embeddings"), h, kind="position"
        ),
        "visual_projection": Linear(
            c.dim("visual_embedding_dim", default=512), h, component=Component.PROJECTOR
        ),
    }
    bypassed = c.flag("bypass_transformer", default=False)
    return Module(
        f"{_NAME}Model",
        embeddings=encoders.embeddings(c, _NAME, more=more),
        encoder=encoders.encoder(c, _NAME),
        pooler=encoders.pooler(c, _NAME),
        additional_layer=encoders.layer(c, _NAME) if bypassed else None,
    )


def heads(c: ModelConfig) -> Module:
    table = f"{_BERT}.embeddings.word_embeddings.weight"
    return encoders.bert_mlm_head(c, _NAME, table=table, sentences=True)


def regions(c: ModelConfig) -> Module:
    """Which region a phrase means: one head's attention over all of them."""
    h = hidden(c)
    width = c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    return Module(
        f"{_NAME}RegionToPhraseAttention",
        query=Linear(h, width, kind="query"),
        key=Linear(h, width, kind="key"),
        value=Linear(h, width, kind="value"),
        component=Component.ATTENTION,
    )


register(
    _BERT,
    with_defaults(
        BASE,
        composed(
            {
                f"{_NAME}ForPreTraining": {_BERT: model, "cls": heads},
                f"{_NAME}Model": model,
                f"{_NAME}ForMultipleChoice": {_BERT: model, "dropout": dropout, "cls": one_label},
                f"{_NAME}ForQuestionAnswering": {_BERT: model, "dropout": dropout, "cls": labels},
                f"{_NAME}ForVisualReasoning": {_BERT: model, "dropout": dropout, "cls": labels},
                f"{_NAME}ForRegionToPhraseAlignment": {
                    _BERT: model,
                    "dropout": dropout,
                    "cls": heads,
                    "attention": regions,
                },
            }
        ),
    ),
    base=f"{_NAME}Model",
    base_prefix=_BERT,
    category="encoder",
)
