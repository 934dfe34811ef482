"""jina-embeddings-v3 (Sturua et al. 2024). Source: transformers/models/jina_embeddings_v3 and its
renaming.

XLM-RoBERTa with rotary positions.  Names are those of the files: query, key and value fused.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.blocks import activation
from ..layers.composing import composed, with_defaults
from ..layers.encoders import dropout, hidden, labels, norm, vocab
from ..trees.catalog import register
from ..trees.modules import Activation, Buffer, Embedding, Layers, Linear, Module

_NAME = "JinaEmbeddingsV3"
_DEFAULTS = {
    "vocab_size": 250002, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
    "intermediate_size": 4096, "hidden_act": "gelu", "max_position_embeddings": 8194,
    "type_vocab_size": 1, "layer_norm_eps": 1e-5,
}  # fmt: skip


def layer(c: ModelConfig) -> Module:
    h, heads, inner = hidden(c), c.dim("num_attention_heads"), c.dim("intermediate_size")
    width = heads * (c.optional_dim("head_dim") or h // heads)
    return Module(
        f"{_NAME}Layer",
        norm1=norm(c),
        mlp=Module(
            f"{_NAME}MLP",
            activation_fn=activation(c.text("hidden_act")),
            fc1=Linear(h, inner, kind="up"),
            fc2=Linear(inner, h, kind="down"),
            component=Component.MLP,
        ),
        mixer=Module(
            f"{_NAME}Attention",
            Wqkv=Linear(h, 3 * width, kind="qkv"),
            out_proj=Linear(width, h, kind="output"),
            component=Component.ATTENTION,
        ),
        norm2=norm(c),
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    positions = c.dim("max_position_embeddings")
    segments = Embedding(c.dim("type_vocab_size"), hidden(c), kind="segment")
    return Module(
        f"{_NAME}Model",
        embeddings=Module(
            f"{_NAME}Embeddings",
            word_embeddings=Embedding(vocab(c), hidden(c)),
            token_type_embeddings=segments,
            dropout=dropout(c),
            position_ids=Buffer(1, positions, dtype="I64", saved=False),
            component=Component.EMBEDDING,
        ),
        emb_ln=norm(c),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
        rotary_emb=Activation(f"{_NAME}RotaryEmbedding"),
        encoder=Module(f"{_NAME}Encoder", layers=Layers.of(c.count("num_hidden_layers"), layer(c))),
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def _lm_head(c: ModelConfig) -> Module:
    return encoders.roberta_lm_head(c, _NAME, table="roberta.embeddings.word_embeddings.weight")


def _head(c: ModelConfig) -> Module:
    return encoders.roberta_classifier(c, _NAME)


_CLASSES = composed(
    {
        f"{_NAME}Model": model,
        f"{_NAME}ForMaskedLM": {"lm_head": _lm_head, "roberta": _bare},
        f"{_NAME}ForSequenceClassification": {"classifier": _head, "roberta": _bare},
        f"{_NAME}ForTokenClassification": {
            "dropout": dropout,
            "classifier": labels,
            "roberta": _bare,
        },
        f"{_NAME}ForQuestionAnswering": {"qa_outputs": labels, "roberta": _bare},
    }
)

register(
    "jina_embeddings_v3",
    with_defaults(_DEFAULTS, _CLASSES),
    base_prefix="roberta",
    category="encoder",
)
