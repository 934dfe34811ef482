"""BERT for sequence generation (Rothe et al. 2019).

Source of shapes: transformers/models/bert_generation/modeling_bert_generation.py.
BERT's layers without segments and without a pooler; the head is one projection to the words.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import with_defaults
from ..layers.encoders import BASE, hidden, vocab
from ..trees.catalog import register
from ..trees.modules import Buffer, Embedding, Linear, Module, Weight

_NAME = "BertGeneration"
_DEFAULTS = {
    **BASE, "vocab_size": 50358, "hidden_size": 1024, "num_hidden_layers": 24,
    "num_attention_heads": 16, "intermediate_size": 4096,
}  # fmt: skip


def embeddings(c: ModelConfig) -> Module:
    positions = c.dim("max_position_embeddings")
    return Module(
        "BertGenerationEmbeddings",
        word_embeddings=Embedding(vocab(c), hidden(c)),
        position_embeddings=Embedding(positions, hidden(c), kind="position"),
        LayerNorm=encoders.norm(c),
        dropout=encoders.dropout(c),
        position_ids=Buffer(1, positions, dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


def model(c: ModelConfig) -> Module:
    stack = encoders.encoder(c, _NAME, cross=True)
    stack.class_name = "BertEncoder"
    return Module("BertGenerationEncoder", embeddings=embeddings(c), encoder=stack)


def decoder(c: ModelConfig) -> Module:
    table = "bert.embeddings.word_embeddings.weight" if c.tied() else None
    bias = "lm_head.bias" if table else None
    head = Module(
        "BertGenerationOnlyLMHead",
        bias=Weight(vocab(c)),
        decoder=Linear(hidden(c), vocab(c), tied_to=table, bias_tied_to=bias),
        component=Component.HEAD,
        kind="lm_head",
    )
    return Module("BertGenerationDecoder", bert=model(c), lm_head=head)


register(
    "bert-generation",
    with_defaults(_DEFAULTS, {"BertGenerationDecoder": decoder, "BertGenerationEncoder": model}),
    base="BertGenerationEncoder",
    base_prefix="bert",
    category="text decoder",
)
