"""Longformer (Beltagy et al. 2020): RoBERTa with a second set of projections for the tokens that
attend globally (transformers/models/longformer)."""

from ..layers import encoders
from ..layers.bert_encoders import Encoder
from ..trees import Linear, ModelConfig, Module
from .roberta import ROBERTA


def _attention(_e: Encoder, c: ModelConfig) -> Module:
    block = encoders.attention(c, "Longformer")
    h = encoders.hidden(c)
    for kind in ("query", "key", "value"):
        block.inside("self").children[f"{kind}_global"] = Linear(h, h, kind=kind)
    return block


ROBERTA.like(
    "Longformer",
    "longformer",
    defaults=encoders.BASE,
    cross=False,
    attention=_attention,
    lacks=("ForCausalLM",),
).register("longformer")
