"""Longformer (Beltagy et al. 2020). Source: transformers/models/longformer/modeling_longformer.py.

RoBERTa with a second set of query, key and value projections for the tokens that attend globally;
the window of the others costs no tensors.
"""

from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.encoders import BASE, hidden
from ..trees.modules import Linear, Module
from .roberta import ROBERTA


def _attention(c: ModelConfig) -> Module:
    block, h = encoders.attention(c, "Longformer"), hidden(c)
    for kind in ("query", "key", "value"):
        block.inside("self").children[f"{kind}_global"] = Linear(h, h, kind=kind)
    return block


ROBERTA.like(
    "Longformer",
    "longformer",
    defaults=BASE,
    layer=lambda e, c: encoders.layer(c, e.name, attention_block=_attention(c)),
    lacks=("ForCausalLM",),
).register("longformer")
