"""Efficient pre-training recipe's RoBERTa (Wettig et al. 2022). Source:
transformers/models/roberta_prelayernorm.

RoBERTa with norms before attention and MLP, and one after the last layer.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import with_defaults
from ..layers.encoders import BASE, dropout, hidden, norm, usual_classes
from ..trees.catalog import register
from ..trees.modules import Layers, Linear, Module

_NAME = "RobertaPreLayerNorm"
_PREFIX = "roberta_prelayernorm"


def _attention(c: ModelConfig, *, cross: bool = False) -> Module:
    return encoders.attention_after_norm(c, _NAME, "LayerNorm", cross=cross)


def layer(c: ModelConfig) -> Module:
    up = encoders.intermediate(c, _NAME)
    up.children["LayerNorm"] = norm(c)
    down = Linear(c.dim("intermediate_size"), hidden(c), kind="down")
    return Module(
        f"{_NAME}Layer",
        attention=_attention(c),
        crossattention=_attention(c, cross=True) if encoders.is_cross(c) else None,
        intermediate=up,
        output=Module(f"{_NAME}Output", dense=down, dropout=dropout(c), component=Component.MLP),
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    layers = Layers.of(c.count("num_hidden_layers"), layer(c))
    return Module(
        f"{_NAME}Model",
        embeddings=encoders.embeddings(c, _NAME),
        encoder=Module(f"{_NAME}Encoder", layer=layers),
        LayerNorm=norm(c),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def _lm_head(c: ModelConfig) -> Module:
    table = f"{_PREFIX}.embeddings.word_embeddings.weight"
    return encoders.roberta_lm_head(c, _NAME, table=table)


def _head(c: ModelConfig) -> Module:
    return encoders.roberta_classifier(c, _NAME)


register(
    "roberta-prelayernorm",
    with_defaults(
        {**BASE, "vocab_size": 50265},
        usual_classes(
            _NAME,
            _PREFIX,
            model,
            bare=_bare,
            more={
                "ForMaskedLM": {_PREFIX: _bare, "lm_head": _lm_head},
                "ForCausalLM": {_PREFIX: _bare, "lm_head": _lm_head},
                "ForSequenceClassification": {_PREFIX: _bare, "classifier": _head},
            },
        ),
    ),
    base_prefix=_PREFIX,
    category="encoder",
)
