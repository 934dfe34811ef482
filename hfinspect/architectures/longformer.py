"""Longformer (Beltagy et al. 2020). Source: transformers/models/longformer/modeling_longformer.py.

RoBERTa with a second set of query, key and value projections for the tokens that attend globally;
the window of the others costs no tensors.
"""

from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder
from ..layers.encoders import BASE, hidden
from ..trees.modules import Linear, Module
from .roberta import ROBERTA


def _attention(_e: Encoder, c: ModelConfig) -> Module:
    block, h = encoders.attention(c, "Longformer"), hidden(c)
    for kind in ("query", "key", "value"):
        block.inside("self").children[f"{kind}_global"] = Linear(h, h, kind=kind)
    return block


ROBERTA.like(
    "Longformer",
    "longformer",
    defaults=BASE,
    cross=False,
    attention=_attention,
    lacks=("ForCausalLM",),
).register("longformer")
