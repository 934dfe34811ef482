"""BROS (Hong et al. 2022): BERT that reads how far apart boxes are, as waves, by one projection of
all layers. Source of shapes: transformers/models/bros/modeling_bros.py."""

from ..layers import encoders
from ..layers.bert_encoders import Encoder, bert_forms, usual_model
from ..layers.composing import Forms
from ..layers.encoders import hidden
from ..layers.heads import classifier
from ..trees import Buffer, Component, Dropout, Linear, ModelConfig, Module, Sequential, Weight
from .bert import BERT


def _tables(e: Encoder, c: ModelConfig) -> Module:
    places = Buffer(1, c.dim("max_position_embeddings"), dtype="I64")
    return encoders.embeddings(c, e.name).called("BrosTextEmbeddings").adding(position_ids=places)


def _whole(e: Encoder, c: ModelConfig) -> Module:
    quarter = hidden(c) // 4
    box = c.dim("dim_bbox", default=8)
    waves = c.dim("dim_bbox_sinusoid_emb_2d", default=quarter)
    single = c.dim("dim_bbox_sinusoid_emb_1d", default=quarter // box)
    # Every second frequency, those that a save keeps although they are computed.
    axis = Module("BrosPositionalEmbedding1D", inv_freq=Buffer((single + 1) // 2))
    projected = c.dim("dim_bbox_projection", default=hidden(c) // c.dim("num_attention_heads"))
    project = Linear(waves, projected, bias=False, component=Component.PROJECTOR)
    waved = Module("BrosPositionalEmbedding2D", x_pos_emb=axis, y_pos_emb=axis)
    boxes = {"bbox_sinusoid_emb": waved, "bbox_projection": project}
    placed = Module("BrosBboxEmbeddings", boxes, component=Component.EMBEDDING)
    root = usual_model(e, c)
    first = {"embeddings": root["embeddings"], "bbox_embeddings": placed}
    root.children = {**first, **root.children}
    return root


def _relations(c: ModelConfig) -> Module:
    """A query and a key of every token for each kind of relation."""
    h = hidden(c)
    head = Component.HEAD
    look = dict.fromkeys(("query", "key"), Linear(h, h * c.dim("n_relations", default=1)))
    return Module("BrosRelationExtractor", look, dummy_node=Weight(1, h), component=head)


def _first_tokens(c: ModelConfig) -> Module:
    h = hidden(c)
    drop = Dropout(0.1)
    head = Component.HEAD
    return Sequential(drop, Linear(h, h), drop, classifier(h, c.num_labels), component=head)


def _forms(e: Encoder) -> Forms:
    spade = {"bros": e.model, "initial_token_classifier": _first_tokens}
    return {
        "ForTokenClassification": bert_forms(e)["ForTokenClassification"],
        "SpadeEEForTokenClassification": {**spade, "subsequent_token_classifier": _relations},
        "SpadeELForTokenClassification": {"bros": e.model, "entity_linker": _relations},
    }


BERT.like(
    "Bros",
    "bros",
    pooling="always",
    embeddings=_tables,
    make_model=_whole,
    forms=_forms,
    headless=True,
).register("bros")
