"""Megatron-BERT (Shoeybi et al. 2019). Source: transformers/models/megatron_bert.

BERT with norms before attention and MLP, none after the embeddings, one after the last layer.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import with_defaults
from ..layers.encoders import BASE, dropout, hidden, norm, usual_classes
from ..trees.catalog import register
from ..trees.modules import Layers, Linear, Module

_NAME = "MegatronBert"
_DEFAULTS = {
    **BASE, "vocab_size": 29056, "hidden_size": 1024, "num_hidden_layers": 24,
    "num_attention_heads": 16, "intermediate_size": 4096,
}  # fmt: skip


def _attention(c: ModelConfig) -> Module:
    block = encoders.attention(c, _NAME)
    dense = Linear(hidden(c), hidden(c), kind="output")
    output = Module("MegatronBertSelfOutput", dense=dense, dropout=dropout(c))
    block.children |= {"ln": norm(c), "output": output}
    return block


def layer(c: ModelConfig) -> Module:
    return Module(
        "MegatronBertLayer",
        attention=_attention(c),
        crossattention=_attention(c) if encoders.is_cross(c) else None,
        ln=norm(c),
        intermediate=encoders.intermediate(c, _NAME),
        output=Module(
            "MegatronBertOutput",
            dense=Linear(c.dim("intermediate_size"), hidden(c), kind="down"),
            dropout=dropout(c),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    embeddings = encoders.embeddings(c, _NAME)
    del embeddings.children["LayerNorm"]
    layers = Layers.of(c.count("num_hidden_layers"), layer(c))
    return Module(
        "MegatronBertModel",
        embeddings=embeddings,
        encoder=Module("MegatronBertEncoder", layer=layers, ln=norm(c)),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def _words(c: ModelConfig, *, sentences: bool = False) -> Module:
    table = "bert.embeddings.word_embeddings.weight"
    return encoders.bert_mlm_head(c, _NAME, table=table, sentences=sentences)


register(
    "megatron-bert",
    with_defaults(
        _DEFAULTS,
        usual_classes(
            _NAME,
            "bert",
            model,
            bare=_bare,
            words=_words,
            more={
                "ForCausalLM": {"bert": _bare, "cls": _words},
                "ForPreTraining": {"bert": model, "cls": lambda c: _words(c, sentences=True)},
                "ForNextSentencePrediction": {
                    "bert": model,
                    "cls": lambda c: encoders.next_sentence_head(c, _NAME),
                },
            },
        ),
    ),
    base="MegatronBertModel",
    base_prefix="bert",
    category="encoder",
)
