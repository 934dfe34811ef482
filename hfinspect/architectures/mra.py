"""MRA (Zeng et al. 2022). Source of shapes: transformers/models/mra/modeling_mra.py.

BERT whose attention goes from coarse to fine, which costs no tensors (yoso.py).
"""

from ..core.config import ModelConfig
from ..layers.bert_encoders import Encoder, later_positions
from ..layers.encoders import BASE
from ..trees.modules import Buffer, Module
from .yoso import YOSO


def _embeddings(e: Encoder, c: ModelConfig) -> Module:
    """Files hold the positions as a tensor."""
    block = later_positions(e, c)
    block.children["position_ids"] = Buffer(1, c.dim("max_position_embeddings"), dtype="I64")
    return block


YOSO.like(
    "Mra",
    "mra",
    defaults={**BASE, "vocab_size": 50265, "type_vocab_size": 1},
    embeddings=_embeddings,
).register("mra")
