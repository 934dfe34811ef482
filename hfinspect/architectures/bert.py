"""BERT (Devlin et al. 2018). Source of shapes: transformers/models/bert/modeling_bert.py.

The embeddings hold three tables and a norm; a layer is attention with biases and a two-matrix MLP,
each followed by its norm (post-norm). The pooler belongs to the heads.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from .blocks import activation
from .heads import classifier
from .modules import (
    Activation,
    Buffer,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Weight,
)  # fmt: skip
from .registry import Builder, register


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-12))


def embeddings(c: ModelConfig) -> Module:
    h = _hidden(c)
    positions = c.dim("max_position_embeddings", default=512)
    return Module(
        "BertEmbeddings",
        word_embeddings=Embedding(c.dim("vocab_size", default=30522), h),
        position_embeddings=Embedding(positions, h, kind="position"),
        token_type_embeddings=Embedding(c.dim("type_vocab_size", default=2), h, kind="segment"),
        LayerNorm=_norm(c),
        dropout=Dropout(c.number("hidden_dropout_prob", default=0.1)),
        # Older files hold the positions 0..n-1 as a tensor.
        position_ids=Buffer(1, positions, dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "BertAttention",
        children={
            "self": Module(
                "BertSelfAttention",
                query=Linear(h, h, kind="query"),
                key=Linear(h, h, kind="key"),
                value=Linear(h, h, kind="value"),
                dropout=Dropout(c.number("attention_probs_dropout_prob", default=0.1)),
            ),
            "output": Module(
                "BertSelfOutput",
                dense=Linear(h, h, kind="output"),
                LayerNorm=_norm(c),
                dropout=Dropout(c.number("hidden_dropout_prob", default=0.1)),
            ),
        },
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=3072)
    cross = c.flag("add_cross_attention", default=False) and c.flag("is_decoder", default=False)
    return Module(
        "BertLayer",
        attention=attention(c),
        crossattention=attention(c) if cross else None,
        intermediate=Module(
            "BertIntermediate",
            dense=Linear(h, inner, kind="up"),
            intermediate_act_fn=activation(c.text("hidden_act", default="gelu")),
            component=Component.MLP,
        ),
        output=Module(
            "BertOutput",
            dense=Linear(inner, h, kind="down"),
            LayerNorm=_norm(c),
            dropout=Dropout(c.number("hidden_dropout_prob", default=0.1)),
            component=Component.MLP,
        ),
    )


def pooler(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "BertPooler",
        dense=Linear(h, h),
        activation=Activation("Tanh"),
        component=Component.HEAD,
        kind="pooler",
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    layers = Layers.of(c.count("num_hidden_layers", default=12), layer(c))
    return Module(
        "BertModel",
        embeddings=embeddings(c),
        encoder=Module("BertEncoder", layer=layers),
        pooler=pooler(c) if pooling else None,
    )


def _predictions(c: ModelConfig) -> Module:
    """Transform, then the projection to words: tied to the word embeddings, its bias apart."""
    h, tied = _hidden(c), c.tied()
    vocab = c.dim("vocab_size", default=30522)
    return Module(
        "BertLMPredictionHead",
        bias=Weight(vocab, kind="lm_head"),
        transform=Module(
            "BertPredictionHeadTransform",
            dense=Linear(h, h, kind="transform"),
            transform_act_fn=activation(c.text("hidden_act", default="gelu")),
            LayerNorm=_norm(c),
        ),
        decoder=Linear(
            h,
            vocab,
            kind="lm_head",
            tied_to="bert.embeddings.word_embeddings.weight" if tied else None,
            bias_tied_to="cls.predictions.bias" if tied else None,
        ),
    )


def _lm(
    name: str, *, pooling: bool = False, words: bool = True, sentences: bool = False
) -> Builder:
    def build(c: ModelConfig) -> Module:
        cls = Module(
            "BertPreTrainingHeads" if words and sentences else
            "BertOnlyMLMHead" if words else "BertOnlyNSPHead",
            predictions=_predictions(c) if words else None,
            seq_relationship=classifier(_hidden(c), 2) if sentences else None,
            component=Component.HEAD,
        )  # fmt: skip
        return Module(name, bert=model(c, pooling=pooling), cls=cls)

    return build


def _classified(
    name: str, *, pooling: bool, head: str = "classifier", one: bool = False
) -> Builder:
    def build(c: ModelConfig) -> Module:
        width = 1 if one else c.num_labels
        dropout = None if head == "qa_outputs" else Dropout(0.1)
        return Module(
            name,
            {"bert": model(c, pooling=pooling), "dropout": dropout,
             head: classifier(_hidden(c), width)},
        )  # fmt: skip

    return build


register(
    "bert",
    {
        "BertForMaskedLM": _lm("BertForMaskedLM"),
        "BertModel": model,
        "BertForPreTraining": _lm("BertForPreTraining", pooling=True, sentences=True),
        "BertLMHeadModel": _lm("BertLMHeadModel"),
        "BertForNextSentencePrediction": _lm(
            "BertForNextSentencePrediction", pooling=True, words=False, sentences=True
        ),
        "BertForSequenceClassification": _classified("BertForSequenceClassification", pooling=True),
        "BertForMultipleChoice": _classified("BertForMultipleChoice", pooling=True, one=True),
        "BertForTokenClassification": _classified("BertForTokenClassification", pooling=False),
        "BertForQuestionAnswering": _classified(
            "BertForQuestionAnswering", pooling=False, head="qa_outputs"
        ),
    },
    base="BertModel",
    base_prefix="bert",
    category="encoder",
)
