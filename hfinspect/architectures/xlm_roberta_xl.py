"""XLM-RoBERTa XL and XXL (Goyal et al. 2021). Source: transformers/models/xlm_roberta_xl.

RoBERTa with the norms before attention and MLP, and one after the last layer.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder, stack, unnormed
from ..layers.encoders import hidden
from ..trees.modules import Linear, Module
from .roberta import ROBERTA

_DEFAULTS = {
    "vocab_size": 250880, "hidden_size": 2560, "num_hidden_layers": 36, "num_attention_heads": 32,
    "intermediate_size": 10240, "max_position_embeddings": 514, "type_vocab_size": 1,
    "layer_norm_eps": 1e-5, "hidden_act": "gelu",
}  # fmt: skip


def _attention(c: ModelConfig, *, cross: bool = False) -> Module:
    at = "self_attn_layer_norm"
    return encoders.attention_after_norm(c, "XLMRobertaXL", at, cross=cross)


def _layer(_e: Encoder, c: ModelConfig) -> Module:
    inner = c.dim("intermediate_size")
    down = Linear(inner, hidden(c), kind="down")
    return Module(
        "XLMRobertaXLLayer",
        attention=_attention(c),
        crossattention=_attention(c, cross=True) if encoders.is_cross(c) else None,
        intermediate=encoders.intermediate(c, "XLMRobertaXL"),
        output=Module("XLMRobertaXLOutput", dense=down, component=Component.MLP),
        LayerNorm=encoders.norm(c),
    )


def _stack(e: Encoder, c: ModelConfig) -> Module:
    block = stack(e, c)
    block.children["LayerNorm"] = encoders.norm(c)
    return block


ROBERTA.like(
    "XLMRobertaXL",
    "roberta",
    defaults=_DEFAULTS,
    embeddings=unnormed,
    layer=_layer,
    encoder=_stack,
).register("xlm-roberta-xl")
