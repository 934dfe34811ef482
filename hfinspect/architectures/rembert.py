"""RemBERT (Chung et al. 2020). Source of shapes: transformers/models/rembert/modeling_rembert.py.

BERT's layers between narrow input embeddings and wide output embeddings, which are never tied.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.bert_encoders import Encoder, bert_layer
from ..layers.blocks import activation
from ..layers.encoders import hidden, norm, vocab
from ..trees.modules import Layers, Linear, Module
from .bert import BERT

_DEFAULTS = {
    "vocab_size": 250300, "hidden_size": 1152, "num_hidden_layers": 32, "num_attention_heads": 18,
    "input_embedding_size": 256, "output_embedding_size": 1664, "intermediate_size": 4608,
    "hidden_act": "gelu", "max_position_embeddings": 512, "type_vocab_size": 2,
}  # fmt: skip


def _inputs(c: ModelConfig) -> Dim:
    return c.dim("input_embedding_size")


def _layer(e: Encoder, c: ModelConfig) -> Module:
    """Attention to another model's states has the class of the layer's own."""
    block = bert_layer(e, c)
    if encoders.is_cross(c):
        block.children["crossattention"] = encoders.attention(c, e.name)
    return block


def _stack(e: Encoder, c: ModelConfig) -> Module:
    return Module(
        "RemBertEncoder",
        embedding_hidden_mapping_in=Linear(
            _inputs(c), hidden(c), component=Component.EMBEDDING, kind="token"
        ),
        layer=Layers.of(c.count("num_hidden_layers"), e.layer(e, c)),
    )


def _words(_e: Encoder, c: ModelConfig) -> Module:
    outputs = c.dim("output_embedding_size")
    predictions = Module(
        "RemBertLMPredictionHead",
        dense=Linear(hidden(c), outputs, kind="transform"),
        decoder=Linear(outputs, vocab(c), kind="lm_head"),
        activation=activation(c.text("hidden_act")),
        LayerNorm=norm(c, outputs),
    )
    return Module("RemBertOnlyMLMHead", predictions=predictions, component=Component.HEAD)


_REMBERT = BERT.like(
    "RemBert",
    "rembert",
    defaults=_DEFAULTS,
    embeddings=lambda e, c: encoders.embeddings(c, e.name, width=_inputs(c)),
    layer=_layer,
    encoder=_stack,
    words=_words,
)
_REMBERT.register("rembert", more={"ForCausalLM": _REMBERT.forms(_REMBERT)["ForMaskedLM"]})
