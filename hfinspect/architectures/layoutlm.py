"""LayoutLM (Xu et al. 2019). Source of shapes: transformers/models/layoutlm/modeling_layoutlm.py.
BERT whose embeddings also place each word on the page: its edges, height and width."""

from ..layers import encoders
from ..layers.bert_encoders import Encoder
from ..layers.encoders import hidden
from ..trees import ModelConfig, Module
from .bert import BERT


def _embeddings(e: Encoder, c: ModelConfig) -> Module:
    return encoders.embeddings(c, e.name, more=encoders.page_tables(c, hidden(c), hidden(c)))


BERT.like(
    "LayoutLM",
    "layoutlm",
    cross=False,
    pooling="always",
    embeddings=_embeddings,
    lacks=("ForMultipleChoice",),
).register("layoutlm")
