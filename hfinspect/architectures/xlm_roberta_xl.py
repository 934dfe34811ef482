"""XLM-RoBERTa XL and XXL (Goyal et al. 2021). Source: transformers/models/xlm_roberta_xl.

RoBERTa with the norms before attention and MLP, and one after the last layer.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import dropout, hidden, labels, one_label
from ..trees.catalog import register
from ..trees.modules import Layers, Linear, Module

_NAME = "XLMRobertaXL"
_DEFAULTS = {
    "vocab_size": 250880, "hidden_size": 2560, "num_hidden_layers": 36, "num_attention_heads": 32,
    "intermediate_size": 10240, "max_position_embeddings": 514, "type_vocab_size": 1,
    "layer_norm_eps": 1e-5, "hidden_act": "gelu",
}  # fmt: skip


def _attention(c: ModelConfig, *, cross: bool = False) -> Module:
    block = encoders.attention(c, _NAME, cross=cross)
    output = Module(
        f"{_NAME}SelfOutput",
        dense=Linear(hidden(c), hidden(c), kind="output"),
        dropout=dropout(c),
    )
    block.children |= {"output": output, "self_attn_layer_norm": encoders.norm(c)}
    return block


def layer(c: ModelConfig) -> Module:
    inner = c.dim("intermediate_size")
    down = Linear(inner, hidden(c), kind="down")
    return Module(
        f"{_NAME}Layer",
        attention=_attention(c),
        crossattention=_attention(c, cross=True) if encoders.is_cross(c) else None,
        intermediate=encoders.intermediate(c, _NAME),
        output=Module(f"{_NAME}Output", dense=down, component=Component.MLP),
        LayerNorm=encoders.norm(c),
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    embeddings = encoders.embeddings(c, _NAME)
    del embeddings.children["LayerNorm"]
    return Module(
        f"{_NAME}Model",
        embeddings=embeddings,
        encoder=Module(
            f"{_NAME}Encoder",
            layer=Layers.of(c.count("num_hidden_layers"), layer(c)),
            LayerNorm=encoders.norm(c),
        ),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def _lm_head(c: ModelConfig) -> Module:
    return encoders.roberta_lm_head(c, _NAME, table="roberta.embeddings.word_embeddings.weight")


def _classification_head(c: ModelConfig) -> Module:
    return encoders.roberta_classifier(c, _NAME)


_CLASSES = composed(
    {
        f"{_NAME}ForMaskedLM": {"roberta": _bare, "lm_head": _lm_head},
        f"{_NAME}Model": model,
        f"{_NAME}ForCausalLM": {"roberta": _bare, "lm_head": _lm_head},
        f"{_NAME}ForSequenceClassification": {"roberta": _bare, "classifier": _classification_head},
        f"{_NAME}ForMultipleChoice": {
            "roberta": model,
            "dropout": dropout,
            "classifier": one_label,
        },
        f"{_NAME}ForTokenClassification": {
            "roberta": _bare,
            "dropout": dropout,
            "classifier": labels,
        },
        f"{_NAME}ForQuestionAnswering": {"roberta": _bare, "qa_outputs": labels},
    }
)

register(
    "xlm-roberta-xl",
    with_defaults(_DEFAULTS, _CLASSES),
    base=f"{_NAME}Model",
    base_prefix="roberta",
    category="encoder",
)
