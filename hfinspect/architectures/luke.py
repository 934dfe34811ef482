"""LUKE (Yamada et al. 2020). Source of shapes: transformers/models/luke/modeling_luke.py.

RoBERTa over words and entities: a table of entities with positions of their own, and queries for
each pairing of word and entity.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.blocks import activation
from ..layers.composing import with_defaults
from ..layers.encoders import BASE, hidden, norm, usual_classes, vocab
from ..layers.heads import classifier
from ..trees.catalog import register
from ..trees.modules import Embedding, Linear, Module, Weight

_NAME = "Luke"


def _entities(c: ModelConfig) -> Dim:
    return c.dim("entity_vocab_size", default=500000)


def _entity_width(c: ModelConfig) -> Dim:
    return c.dim("entity_emb_size", default=256)


def _attention(c: ModelConfig) -> Module:
    block, h = encoders.attention(c, _NAME), hidden(c)
    projections = block["self"]
    assert isinstance(projections, Module)
    if c.flag("use_entity_aware_attention", default=True):
        for pair in ("w2e", "e2w", "e2e"):
            projections.children[f"{pair}_query"] = Linear(h, h, kind="query")
    return block


def entity_embeddings(c: ModelConfig) -> Module:
    h, e = hidden(c), _entity_width(c)
    return Module(
        "LukeEntityEmbeddings",
        entity_embeddings=Embedding(_entities(c), e),
        entity_embedding_dense=Linear(e, h, bias=False, kind="token") if e != h else None,
        position_embeddings=Embedding(c.dim("max_position_embeddings"), h, kind="position"),
        token_type_embeddings=Embedding(c.dim("type_vocab_size"), h, kind="segment"),
        LayerNorm=norm(c),
        component=Component.EMBEDDING,
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    block = encoders.layer(c, _NAME, attention_block=_attention(c))
    return Module(
        "LukeModel",
        embeddings=encoders.embeddings(c, _NAME),
        entity_embeddings=entity_embeddings(c),
        encoder=encoders.encoder(c, _NAME, block),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def lm_head(c: ModelConfig) -> Module:
    """The class ties the head's bias to the decoder's, but no weight to the words."""
    tied = c.tied()
    bias = Weight(vocab(c), kind="lm_head", tied_to="lm_head.decoder.bias" if tied else None)
    return Module(
        "LukeLMHead",
        bias=bias,
        dense=Linear(hidden(c), hidden(c), kind="transform"),
        layer_norm=norm(c),
        decoder=Linear(hidden(c), vocab(c), kind="lm_head"),
        component=Component.HEAD,
    )


def entity_predictions(c: ModelConfig) -> Module:
    e = _entity_width(c)
    table = "luke.entity_embeddings.entity_embeddings.weight" if c.tied() else None
    return Module(
        "EntityPredictionHead",
        bias=Weight(_entities(c), kind="lm_head"),
        transform=Module(
            "EntityPredictionHeadTransform",
            dense=Linear(hidden(c), e, kind="transform"),
            transform_act_fn=activation(c.text("hidden_act")),
            LayerNorm=norm(c, e),
        ),
        decoder=Linear(e, _entities(c), bias=False, tied_to=table, kind="lm_head"),
        component=Component.HEAD,
    )


def _pair(c: ModelConfig) -> Module:
    return classifier(hidden(c) * 2, c.num_labels, bias=False)


def _span(c: ModelConfig) -> Module:
    return classifier(hidden(c) * 3, c.num_labels)


_CLASSES = usual_classes(
    _NAME,
    "luke",
    model,
    bare=_bare,
    more={
        "ForMaskedLM": {
            "luke": model,
            "lm_head": lm_head,
            "entity_predictions": entity_predictions,
        },
        "ForEntityClassification": {
            "luke": model,
            "dropout": encoders.dropout,
            "classifier": encoders.labels,
        },
        "ForEntityPairClassification": {
            "luke": model,
            "dropout": encoders.dropout,
            "classifier": _pair,
        },
        "ForEntitySpanClassification": {
            "luke": model,
            "dropout": encoders.dropout,
            "classifier": _span,
        },
    },
)

register(
    "luke",
    with_defaults({**BASE, "vocab_size": 50267}, {"LukeModel": _CLASSES["LukeModel"], **_CLASSES}),
    base="LukeModel",
    base_prefix="luke",
    category="encoder",
)
