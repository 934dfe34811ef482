"""MosaicBERT and DNABERT-2 (Portes et al. 2023; Zhou et al. 2023): model_type ``bert`` with code of
their own, known by ``bert_layers`` in auto_map. No class in transformers. Source of shapes:
bert_layers.py in mosaicml/mosaic-bert-base and zhihan1996/DNABERT-2-117M.

BERT with ALiBi positions, q, k and v in one matrix, and gated MLPs with a norm inside.
"""

from collections.abc import Mapping

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.blocks import activation
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels, norm
from ..trees.catalog import Builder, register
from ..trees.modules import Dropout, Layers, Linear, Module

_NAME = "Bert"


def layer(c: ModelConfig) -> Module:
    h, inner = hidden(c), c.dim("intermediate_size")
    c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    attention = Module("BertUnpadSelfAttention", Wqkv=Linear(h, 3 * h, kind="qkv"))
    return Module(
        "BertLayer",
        attention=Module(
            "BertUnpadAttention",
            {"self": attention, "output": encoders.self_output(c, _NAME)},
            component=Component.ATTENTION,
        ),
        mlp=Module(
            "BertGatedLinearUnitMLP",
            gated_layers=Linear(h, 2 * inner, bias=False, kind="gate_up"),
            act=activation("gelu"),
            wo=Linear(inner, h, kind="down"),
            dropout=Dropout(c.number("hidden_dropout_prob", default=0.1)),
            layernorm=norm(c),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    tables = encoders.embeddings(c, _NAME)
    del tables.children["position_embeddings"], tables.children["position_ids"]
    layers = Layers.of(c.count("num_hidden_layers"), layer(c))
    return Module(
        "BertModel",
        embeddings=tables,
        encoder=Module("BertEncoder", layer=layers),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def _words(c: ModelConfig) -> Module:
    return encoders.bert_mlm_head(c, _NAME, table="bert.embeddings.word_embeddings.weight")


CLASSES: Mapping[str, Builder] = with_defaults(
    BASE,
    composed(
        {
            "BertForMaskedLM": {"bert": _bare, "cls": _words},
            "BertModel": model,
            "BertForSequenceClassification": {
                "bert": model,
                "dropout": dropout,
                "classifier": labels,
            },
        }
    ),
)

register(
    "mosaic_bert",
    CLASSES,
    base_prefix="bert",
    category="encoder",
    source="bert_layers.py of mosaicml/mosaic-bert-base and zhihan1996/DNABERT-2-117M",
)
