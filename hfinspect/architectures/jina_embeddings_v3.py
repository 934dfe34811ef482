"""jina-embeddings-v3 (Sturua et al. 2024). Source: transformers/models/jina_embeddings_v3 and its
renaming.

XLM-RoBERTa with rotary positions.  Names are those of the files: query, key and value fused.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder, Forms, roberta_forms, roberta_words
from ..layers.blocks import activation
from ..layers.encoders import dropout, hidden, norm, vocab
from ..trees.modules import Activation, Buffer, Embedding, Layers, Linear, Module

DEFAULTS = {
    "vocab_size": 250002, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
    "intermediate_size": 4096, "hidden_act": "gelu", "max_position_embeddings": 8194,
    "type_vocab_size": 1, "layer_norm_eps": 1e-5,
}  # fmt: skip


def _layer(e: Encoder, c: ModelConfig) -> Module:
    h, heads, inner = hidden(c), c.dim("num_attention_heads"), c.dim("intermediate_size")
    width = heads * (c.optional_dim("head_dim") or h // heads)
    return Module(
        f"{e.name}Layer",
        norm1=norm(c),
        mlp=Module(
            f"{e.name}MLP",
            activation_fn=activation(c.text("hidden_act")),
            fc1=Linear(h, inner, kind="up"),
            fc2=Linear(inner, h, kind="down"),
            component=Component.MLP,
        ),
        mixer=Module(
            f"{e.name}Attention",
            Wqkv=Linear(h, 3 * width, kind="qkv"),
            out_proj=Linear(width, h, kind="output"),
            component=Component.ATTENTION,
        ),
        norm2=norm(c),
    )


def _tables(e: Encoder, c: ModelConfig) -> Module:
    positions, segments = c.dim("max_position_embeddings"), c.dim("type_vocab_size")
    return Module(
        f"{e.name}Embeddings",
        word_embeddings=Embedding(vocab(c), hidden(c)),
        token_type_embeddings=Embedding(segments, hidden(c), kind="segment"),
        dropout=dropout(c),
        position_ids=Buffer(1, positions, dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


def _stack(e: Encoder, c: ModelConfig) -> Module:
    layers = Layers.of(c.count("num_hidden_layers"), e.layer(e, c))
    return Module(f"{e.name}Encoder", layers=layers)


def _whole(e: Encoder, c: ModelConfig) -> Module:
    return Module(
        f"{e.name}Model",
        embeddings=e.embeddings(e, c),
        emb_ln=norm(c),
        pooler=None if e.pooling == "never" else encoders.pooler(c, e.name),
        rotary_emb=Activation(f"{e.name}RotaryEmbedding"),
        encoder=e.encoder(e, c),
    )


def _forms(e: Encoder) -> Forms:
    """RoBERTa's heads, each before the model."""
    return {
        ending: {**{at: part for at, part in form.items() if at != e.prefix}, e.prefix: e.bare}
        for ending, form in roberta_forms(e).items()
    }


JINA = Encoder(
    "JinaEmbeddingsV3", "roberta", DEFAULTS, embeddings=_tables, layer=_layer,
    encoder=_stack, whole=_whole, words=roberta_words, forms=_forms, headless=True,
    lacks=("ForCausalLM", "ForMultipleChoice"),
).register("jina_embeddings_v3")  # fmt: skip
