"""DistilBERT (Sanh et al. 2019). Source: transformers/models/distilbert/modeling_distilbert.py.

BERT's layers under other names, half as many, without segments and pooler.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.composing import composed
from ..layers.heads import classifier
from ..trees.catalog import register
from ..trees.modules import Buffer, Dropout, Embedding, LayerNorm, Layers, Linear, Module

_TABLE = "distilbert.embeddings.word_embeddings.weight"


_width = size("dim", "hidden_size", default=768)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_width(c), eps=1e-12)


def _act(c: ModelConfig) -> Module:
    return activation(c.text("activation", default="gelu"))


_vocab = size("vocab_size", default=30522)


def embeddings(c: ModelConfig) -> Module:
    positions = c.dim("max_position_embeddings", default=512)
    return Module(
        "Embeddings",
        word_embeddings=Embedding(_vocab(c), _width(c), padding_idx=c.padding_idx),
        position_embeddings=Embedding(positions, _width(c), kind="position"),
        LayerNorm=_norm(c),
        dropout=Dropout(c.number("dropout", default=0.1)),
        position_ids=Buffer(1, positions, dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


def block(c: ModelConfig) -> Module:
    d, inner = _width(c), c.dim("hidden_dim", default=3072)
    c.divided(d, c.dim("n_heads", "num_attention_heads", default=12), "dim", "n_heads")
    return Module(
        "TransformerBlock",
        attention=Module(
            "DistilBertSelfAttention",
            q_lin=Linear(d, d, kind="query"),
            k_lin=Linear(d, d, kind="key"),
            v_lin=Linear(d, d, kind="value"),
            out_lin=Linear(d, d, kind="output"),
            dropout=Dropout(c.number("attention_dropout", default=0.1)),
            component=Component.ATTENTION,
        ),
        sa_layer_norm=_norm(c),
        ffn=Module(
            "FFN",
            dropout=Dropout(c.number("dropout", default=0.1)),
            lin1=Linear(d, inner, kind="up"),
            lin2=Linear(inner, d, kind="down"),
            activation=_act(c),
            component=Component.MLP,
        ),
        output_layer_norm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    layers = Layers.of(c.count("n_layers", "num_hidden_layers", default=6), block(c))
    return Module(
        "DistilBertModel",
        embeddings=embeddings(c),
        transformer=Module("Transformer", layer=layers),
    )


def masked_lm(c: ModelConfig) -> Module:
    d = _width(c)
    head, tied_to = Component.HEAD, _TABLE if c.tied() else None
    normed = _norm(c)
    return Module(
        "DistilBertForMaskedLM",
        activation=_act(c),
        distilbert=model(c),
        vocab_transform=Linear(d, d, component=head, kind="transform"),
        vocab_layer_norm=normed,
        vocab_projector=Linear(d, _vocab(c), tied_to=tied_to, component=head, kind="lm_head"),
    )


def _pre_classifier(c: ModelConfig) -> Module:
    return Linear(_width(c), _width(c), component=Component.HEAD, kind="classifier")


def _labels(c: ModelConfig) -> Module:
    return classifier(_width(c), c.num_labels)


def _one(c: ModelConfig) -> Module:
    return classifier(_width(c), 1)


def _dropout(c: ModelConfig) -> Module:
    return Dropout(c.number("seq_classif_dropout", default=0.2))


_CLASSIFIER = {
    "distilbert": model,
    "pre_classifier": _pre_classifier,
    "classifier": _labels,
    "dropout": _dropout,
}

register(
    "distilbert",
    composed(
        {
            "DistilBertForMaskedLM": masked_lm,
            "DistilBertModel": model,
            "DistilBertForSequenceClassification": _CLASSIFIER,
            "DistilBertForQuestionAnswering": {
                "distilbert": model,
                "qa_outputs": _labels,
                "dropout": _dropout,
            },
            "DistilBertForTokenClassification": {
                "distilbert": model,
                "dropout": _dropout,
                "classifier": _labels,
            },
            "DistilBertForMultipleChoice": {**_CLASSIFIER, "classifier": _one},
        }
    ),
    base_prefix="distilbert",
    category="encoder",
)
