"""RemBERT (Chung et al. 2020). Source of shapes: transformers/models/rembert/modeling_rembert.py.

BERT's layers between narrow input embeddings and wide output embeddings, which are never tied.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.blocks import activation
from ..layers.composing import with_defaults
from ..layers.encoders import hidden, norm, usual_classes, vocab
from ..trees.catalog import register
from ..trees.modules import Layers, Linear, Module

_NAME = "RemBert"
_DEFAULTS = {
    "vocab_size": 250300, "hidden_size": 1152, "num_hidden_layers": 32, "num_attention_heads": 18,
    "input_embedding_size": 256, "output_embedding_size": 1664, "intermediate_size": 4608,
    "hidden_act": "gelu", "max_position_embeddings": 512, "type_vocab_size": 2,
}  # fmt: skip


def _inputs(c: ModelConfig) -> Dim:
    return c.dim("input_embedding_size")


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    block = encoders.layer(c, _NAME, cross=True)
    if encoders.is_cross(c):
        block.children["crossattention"] = encoders.attention(c, _NAME)
    return Module(
        "RemBertModel",
        embeddings=encoders.embeddings(c, _NAME, width=_inputs(c)),
        encoder=Module(
            "RemBertEncoder",
            embedding_hidden_mapping_in=Linear(
                _inputs(c), hidden(c), component=Component.EMBEDDING, kind="token"
            ),
            layer=Layers.of(c.count("num_hidden_layers"), block),
        ),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def words(c: ModelConfig) -> Module:
    outputs = c.dim("output_embedding_size")
    predictions = Module(
        "RemBertLMPredictionHead",
        dense=Linear(hidden(c), outputs, kind="transform"),
        decoder=Linear(outputs, vocab(c), kind="lm_head"),
        activation=activation(c.text("hidden_act")),
        LayerNorm=norm(c, outputs),
    )
    return Module("RemBertOnlyMLMHead", predictions=predictions, component=Component.HEAD)


register(
    "rembert",
    with_defaults(
        _DEFAULTS,
        usual_classes(
            _NAME,
            "rembert",
            model,
            bare=_bare,
            words=words,
            more={"ForCausalLM": {"rembert": _bare, "cls": words}},
        ),
    ),
    base="RemBertModel",
    base_prefix="rembert",
    category="encoder",
)
