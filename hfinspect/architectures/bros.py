"""BROS (Hong et al. 2022). Source of shapes: transformers/models/bros/modeling_bros.py.

BERT that reads where words stand: the distances between boxes, as waves, through one projection
that all layers share.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels
from ..layers.heads import classifier
from ..trees.catalog import register
from ..trees.modules import Buffer, Dropout, Linear, Module, Sequential, Weight

_NAME = "Bros"


def bbox_embeddings(c: ModelConfig) -> Module:
    waves = c.dim("dim_bbox_sinusoid_emb_2d", default=hidden(c) // 4)
    single = c.dim(
        "dim_bbox_sinusoid_emb_1d", default=hidden(c) // 4 // c.dim("dim_bbox", default=8)
    )
    # Every second frequency, those that a save keeps although they are computed.
    axis = Module("BrosPositionalEmbedding1D", inv_freq=Buffer((single + 1) // 2))
    heads = c.dim("num_attention_heads")
    projected = c.dim("dim_bbox_projection", default=hidden(c) // heads)
    return Module(
        "BrosBboxEmbeddings",
        bbox_sinusoid_emb=Module("BrosPositionalEmbedding2D", x_pos_emb=axis, y_pos_emb=axis),
        bbox_projection=Linear(waves, projected, bias=False, component=Component.PROJECTOR),
        component=Component.EMBEDDING,
    )


def model(c: ModelConfig) -> Module:
    table = encoders.embeddings(c, _NAME)
    table.class_name = "BrosTextEmbeddings"
    table.children["position_ids"] = Buffer(1, c.dim("max_position_embeddings"), dtype="I64")
    return Module(
        "BrosModel",
        embeddings=table,
        bbox_embeddings=bbox_embeddings(c),
        encoder=encoders.encoder(c, _NAME, cross=True),
        pooler=encoders.pooler(c, _NAME),
    )


def relations(c: ModelConfig) -> Module:
    """A query and a key of every token for each kind of relation."""
    h = hidden(c)
    wide = h * c.dim("n_relations", default=1)
    return Module(
        "BrosRelationExtractor",
        query=Linear(h, wide),
        key=Linear(h, wide),
        dummy_node=Weight(1, h),
        component=Component.HEAD,
    )


def initial_tokens(c: ModelConfig) -> Module:
    h = hidden(c)
    return Sequential(
        Dropout(0.1),
        Linear(h, h),
        Dropout(0.1),
        classifier(h, c.num_labels),
        component=Component.HEAD,
    )


register(
    "bros",
    with_defaults(
        BASE,
        composed(
            {
                "BrosModel": model,
                "BrosForTokenClassification": {
                    "bros": model,
                    "dropout": dropout,
                    "classifier": labels,
                },
                "BrosSpadeEEForTokenClassification": {
                    "bros": model,
                    "initial_token_classifier": initial_tokens,
                    "subsequent_token_classifier": relations,
                },
                "BrosSpadeELForTokenClassification": {"bros": model, "entity_linker": relations},
            }
        ),
    ),
    base_prefix="bros",
    category="encoder",
)
