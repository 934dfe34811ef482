"""LiLT (Wang et al. 2022). Source of shapes: transformers/models/lilt/modeling_lilt.py.

RoBERTa over words next to a narrower model over their places on the page; the two share attention
scores.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder, Forms, bert_forms, first_token, usual_model
from ..layers.blocks import size
from ..layers.encoders import BASE, dropout, hidden, norm
from ..trees.modules import Embedding, Linear, Module

#: Four edges, height and width share the hidden size (LiltLayoutEmbeddings).
_COORDINATES = 6
_ratio = size("channel_shrink_ratio", default=4)


def _narrow(c: ModelConfig) -> ModelConfig:
    """The same config for the model of places: hidden and intermediate size divided."""
    shrunk = {
        "hidden_size": hidden(c) // _ratio(c),
        "intermediate_size": c.dim("intermediate_size") // _ratio(c),
    }
    return ModelConfig({**c.values, **shrunk}, c.path)


def _layout(c: ModelConfig) -> Module:
    h, small = hidden(c), hidden(c) // _ratio(c)
    places, positions = c.dim("max_2d_position_embeddings", default=1024), "position_embeddings"
    table = Embedding(places, h // _COORDINATES, kind="position")
    boxes = Embedding(c.dim("max_position_embeddings"), small, kind="position")
    return Module(
        "LiltLayoutEmbeddings",
        {
            **{f"{axis}_{positions}": table for axis in "xyhw"},
            f"box_{positions}": boxes,
            "box_linear_embeddings": Linear(h, small, kind="position"),
            "LayerNorm": norm(c, small),
            "dropout": dropout(c),
        },
        component=Component.EMBEDDING,
    )


def _layer(e: Encoder, c: ModelConfig) -> Module:
    small, narrow = _narrow(c), hidden(c) // _ratio(c)
    block = encoders.layer(c, e.name)
    attention = block.inside("attention")
    for kind in ("query", "key", "value"):
        attention.inside("self").children[f"layout_{kind}"] = Linear(narrow, narrow, kind=kind)
    attention.children["layout_output"] = encoders.self_output(small, e.name)
    block.children["layout_intermediate"] = encoders.intermediate(small, e.name)
    block.children["layout_output"] = encoders.output(small, e.name)
    return block


def _whole(e: Encoder, c: ModelConfig) -> Module:
    root = usual_model(e, c)
    root.inside("embeddings").class_name = "LiltTextEmbeddings"
    root.children = {
        "embeddings": root["embeddings"], "layout_embeddings": _layout(c), **root.children,
    }  # fmt: skip
    return root


def _forms(e: Encoder) -> Forms:
    return {**bert_forms(e), "ForSequenceClassification": first_token(e)}


Encoder(
    "Lilt", "lilt", BASE, layer=_layer, whole=_whole, forms=_forms, headless=True,
    lacks=("ForMaskedLM", "ForMultipleChoice"),
).register("lilt")  # fmt: skip
