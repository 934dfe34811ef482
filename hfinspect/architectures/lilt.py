"""LiLT (Wang et al. 2022). Source of shapes: transformers/models/lilt/modeling_lilt.py.

RoBERTa over words next to a narrower model over their places on the page; the two share attention
scores.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels, norm
from ..trees.catalog import register
from ..trees.modules import Embedding, Linear, Module

_NAME = "Lilt"

#: Four edges, height and width share the hidden size (LiltLayoutEmbeddings).
_COORDINATES = 6


def _ratio(c: ModelConfig) -> Dim:
    return c.dim("channel_shrink_ratio", default=4)


def _narrow(c: ModelConfig) -> ModelConfig:
    """The same config for the model of places: hidden and intermediate size divided."""
    shrunk = {
        "hidden_size": hidden(c) // _ratio(c),
        "intermediate_size": c.dim("intermediate_size") // _ratio(c),
    }
    return ModelConfig({**c.values, **shrunk}, c.path)


def layout_embeddings(c: ModelConfig) -> Module:
    h, small = hidden(c), hidden(c) // _ratio(c)
    places = c.dim("max_2d_position_embeddings", default=1024)
    table = Embedding(places, h // _COORDINATES, kind="position")
    positions = c.dim("max_position_embeddings")
    return Module(
        "LiltLayoutEmbeddings",
        x_position_embeddings=table,
        y_position_embeddings=table,
        h_position_embeddings=table,
        w_position_embeddings=table,
        box_position_embeddings=Embedding(positions, small, kind="position"),
        box_linear_embeddings=Linear(h, small, kind="position"),
        LayerNorm=norm(c, small),
        dropout=dropout(c),
        component=Component.EMBEDDING,
    )


def attention(c: ModelConfig) -> Module:
    block, small = encoders.attention(c, _NAME), hidden(c) // _ratio(c)
    projections = block.inside("self")
    for kind in ("query", "key", "value"):
        projections.children[f"layout_{kind}"] = Linear(small, small, kind=kind)
    block.children["layout_output"] = encoders.self_output(_narrow(c), _NAME)
    return block


def layer(c: ModelConfig) -> Module:
    small = _narrow(c)
    return Module(
        "LiltLayer",
        attention=attention(c),
        intermediate=encoders.intermediate(c, _NAME),
        output=encoders.output(c, _NAME),
        layout_intermediate=encoders.intermediate(small, _NAME),
        layout_output=encoders.output(small, _NAME),
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    embeddings = encoders.embeddings(c, _NAME)
    embeddings.class_name = "LiltTextEmbeddings"
    return Module(
        "LiltModel",
        embeddings=embeddings,
        layout_embeddings=layout_embeddings(c),
        encoder=encoders.encoder(c, _NAME, layer(c)),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def _head(c: ModelConfig) -> Module:
    return encoders.roberta_classifier(c, _NAME)


_CLASSES = composed(
    {
        "LiltModel": model,
        "LiltForSequenceClassification": {"lilt": _bare, "classifier": _head},
        "LiltForTokenClassification": {"lilt": _bare, "dropout": dropout, "classifier": labels},
        "LiltForQuestionAnswering": {"lilt": _bare, "qa_outputs": labels},
    }
)

register("lilt", with_defaults(BASE, _CLASSES), base_prefix="lilt", category="encoder")
