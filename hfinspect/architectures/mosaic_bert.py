"""MosaicBERT and DNABERT-2 (Portes et al. 2023; Zhou et al. 2023): model_type ``bert`` with code of
their own, known by ``bert_layers`` in auto_map. No class in transformers. Source of shapes:
bert_layers.py in mosaicml/mosaic-bert-base and zhihan1996/DNABERT-2-117M.

BERT with ALiBi positions, q, k and v in one matrix, and gated MLPs with a norm inside.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder, Forms, bert_forms, tables
from ..layers.blocks import activation
from ..layers.encoders import BASE, hidden, norm
from ..trees.catalog import register
from ..trees.modules import Dropout, Linear, Module


def gated(c: ModelConfig, name: str, first: str, second: str, **more: Module) -> Module:
    """Gate and up in one matrix without a bias, and a second one back: 3·H·I + H."""
    h, inner = hidden(c), c.dim("intermediate_size")
    return Module(
        name,
        {
            first: Linear(h, 2 * inner, bias=False, kind="gate_up"),
            "act": activation("gelu"),
            second: Linear(inner, h, kind="down"),
            "dropout": Dropout(c.number("hidden_dropout_prob", default=0.1)),
            **more,
        },
        component=Component.MLP,
    )


def _layer(_e: Encoder, c: ModelConfig) -> Module:
    h = hidden(c)
    c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    attention = Module("BertUnpadSelfAttention", Wqkv=Linear(h, 3 * h, kind="qkv"))
    return Module(
        "BertLayer",
        attention=Module(
            "BertUnpadAttention",
            {"self": attention, "output": encoders.self_output(c, "Bert")},
            component=Component.ATTENTION,
        ),
        mlp=gated(c, "BertGatedLinearUnitMLP", "gated_layers", "wo", layernorm=norm(c)),
    )


def without_positions(e: Encoder, c: ModelConfig) -> Module:
    """BERT's tables of words and segments."""
    block = tables(e, c)
    del block.children["position_embeddings"], block.children["position_ids"]
    return block


def _forms(e: Encoder) -> Forms:
    return {key: bert_forms(e)[key] for key in ("ForMaskedLM", "ForSequenceClassification")}


#: The classes of those who bring this code under BERT's type.
CLASSES = Encoder(
    "Bert", "bert", BASE, embeddings=without_positions, layer=_layer, forms=_forms
).classes()

register(
    "mosaic_bert",
    CLASSES,
    base_prefix="bert",
    category="encoder",
    source="bert_layers.py of mosaicml/mosaic-bert-base and zhihan1996/DNABERT-2-117M",
)
