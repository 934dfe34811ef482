"""Megatron-BERT (Shoeybi et al. 2019). Source: transformers/models/megatron_bert.

BERT with norms before attention and MLP, none after the embeddings, one after the last layer.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder, pre_training, unnormed
from ..layers.encoders import BASE, dropout, hidden, norm
from ..trees.modules import Layers, Linear, Module
from .bert import BERT

_DEFAULTS = {
    **BASE, "vocab_size": 29056, "hidden_size": 1024, "num_hidden_layers": 24,
    "num_attention_heads": 16, "intermediate_size": 4096,
}  # fmt: skip


def _attention(c: ModelConfig) -> Module:
    return encoders.attention_after_norm(c, "MegatronBert", "ln")


def _layer(e: Encoder, c: ModelConfig) -> Module:
    return Module(
        "MegatronBertLayer",
        attention=_attention(c),
        crossattention=_attention(c) if encoders.is_cross(c) else None,
        ln=norm(c),
        intermediate=encoders.intermediate(c, e.name),
        output=Module(
            "MegatronBertOutput",
            dense=Linear(c.dim("intermediate_size"), hidden(c), kind="down"),
            dropout=dropout(c),
            component=Component.MLP,
        ),
    )


def _stack(e: Encoder, c: ModelConfig) -> Module:
    layers = Layers.of(c.count("num_hidden_layers"), e.layer(e, c))
    return Module("MegatronBertEncoder", layer=layers, ln=norm(c))


_MEGATRON = BERT.like(
    "MegatronBert",
    "bert",
    defaults=_DEFAULTS,
    embeddings=unnormed,
    layer=_layer,
    encoder=_stack,
)
_MEGATRON.register(
    "megatron-bert",
    more={"ForCausalLM": _MEGATRON.forms(_MEGATRON)["ForMaskedLM"], **pre_training(_MEGATRON)},
)
