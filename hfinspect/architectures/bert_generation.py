"""BERT for sequence generation (Rothe et al. 2019).

Source of shapes: transformers/models/bert_generation/modeling_bert_generation.py.
BERT's layers without segments and without a pooler; the head is one projection to the words.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import with_defaults
from ..layers.encoders import BASE
from ..trees.catalog import register
from ..trees.modules import Buffer, Embedding, Linear, Module, Weight

_NAME = "BertGeneration"
_DEFAULTS = {
    **BASE,
    "vocab_size": 50358,
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
}


def embeddings(c: ModelConfig) -> Module:
    positions = c.dim("max_position_embeddings")
    return Module(
        "BertGenerationEmbeddings",
        word_embeddings=Embedding(encoders.vocab(c), encoders.hidden(c)),
        position_embeddings=Embedding(positions, encoders.hidden(c), kind="position"),
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
    tied = c.tied()
    head = Module(
        "BertGenerationOnlyLMHead",
        bias=Weight(encoders.vocab(c)),
        decoder=Linear(
            encoders.hidden(c),
            encoders.vocab(c),
            tied_to="bert.embeddings.word_embeddings.weight" if tied else None,
            bias_tied_to="lm_head.bias" if tied else None,
        ),
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
