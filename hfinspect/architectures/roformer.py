"""RoFormer (Su et al. 2021), the first with rotary positions. Source: transformers/models/roformer.

BERT's layers; the table of sines that rotates them is a fixed parameter, saved with the rest.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder, Forms, embedding_width, projected, summary_forms
from ..layers.encoders import BASE, dropout, hidden, vocab
from ..layers.heads import classifier
from ..trees.modules import Embedding, Layers, Module
from .bert import BERT


def _tables(_e: Encoder, c: ModelConfig) -> Module:
    width = embedding_width(c)
    return Module(
        "RoFormerEmbeddings",
        word_embeddings=Embedding(vocab(c), width),
        token_type_embeddings=Embedding(c.dim("type_vocab_size"), width, kind="segment"),
        LayerNorm=encoders.norm(c, width),
        dropout=dropout(c),
        component=Component.EMBEDDING,
    )


def _stack(e: Encoder, c: ModelConfig) -> Module:
    head = c.divided(hidden(c), c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    attention = encoders.attention(c, e.name)
    block = encoders.layer(c, e.name, attention_block=attention, cross=True)
    positions, sines = c.dim("max_position_embeddings"), "RoFormerSinusoidalPositionalEmbedding"
    return Module(
        "RoFormerEncoder",
        embed_positions=Embedding(positions, head, kind="position", class_name=sines),
        layer=Layers.of(c.count("num_hidden_layers"), block),
    )


def _words(e: Encoder, c: ModelConfig) -> Module:
    return encoders.bert_mlm_head(c, e.name, table=e.table, width=embedding_width(c))


def _forms(e: Encoder) -> Forms:
    forms = summary_forms(e)
    answers = {e.prefix: e.bare, "qa_outputs": lambda c: classifier(hidden(c), 2)}
    return {**forms, "ForCausalLM": forms["ForMaskedLM"], "ForQuestionAnswering": answers}


BERT.like(
    "RoFormer", "roformer", embeddings=_tables, encoder=_stack, words=_words, whole=projected,
    defaults={**BASE, "vocab_size": 50000, "max_position_embeddings": 1536}, forms=_forms,
).register("roformer")  # fmt: skip
