"""MosaicBERT and DNABERT-2 (Portes et al. 2023; Zhou et al. 2023): model_type ``bert`` with code of
their own, known by ``bert_layers`` in auto_map."""

from ..layers import encoders
from ..layers.bert_encoders import Encoder, without
from ..layers.blocks import activation
from ..layers.encoders import BASE, hidden, norm
from ..trees import Component, Dropout, Linear, ModelConfig, Module


def gated(c: ModelConfig, name: str, first: str, second: str, **more: Module) -> Module:
    """Gate and up in one matrix without a bias, and a second one back: 3·H·I + H."""
    h = hidden(c)
    inner = c.dim("intermediate_size")
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
    attends = encoders.attending(c, "Bert", attention).called("BertUnpadAttention")
    mlp = gated(c, "BertGatedLinearUnitMLP", "gated_layers", "wo", layernorm=norm(c))
    return Module("BertLayer", attention=attends, mlp=mlp)


without_positions = without("position_embeddings", "position_ids")
_LACKS = "ForMultipleChoice", "ForTokenClassification", "ForQuestionAnswering"
Encoder("Bert", "bert", BASE, embeddings=without_positions, layer=_layer, lacks=_LACKS).register(
    "mosaic_bert",
    source="bert_layers.py of mosaicml/mosaic-bert-base and zhihan1996/DNABERT-2-117M",
)
