"""BigBird (Zaheer et al. 2020). Source of shapes: transformers/models/big_bird.

BERT with sparse attention: the same projections, of which query, key and value may lack biases.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder, Forms, bert_forms, first_token, pre_training
from ..layers.encoders import BASE, dropout, hidden
from ..layers.heads import classifier
from ..trees.modules import Activation, Dropout, Linear, Module
from .bert import BERT


def _layer(e: Encoder, c: ModelConfig) -> Module:
    h, bias = hidden(c), c.flag("use_bias", default=True)
    c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    full = c.text("attention_type", default="block_sparse") == "original_full"
    projections = Module(
        "BigBirdSelfAttention" if full or encoders.is_cross(c) else "BigBirdBlockSparseAttention",
        query=Linear(h, h, bias=bias, kind="query"),
        key=Linear(h, h, bias=bias, kind="key"),
        value=Linear(h, h, bias=bias, kind="value"),
        dropout=Dropout(c.number("attention_probs_dropout_prob", default=0.1)) if full else None,
    )
    attention = encoders.attending(c, e.name, projections)
    return encoders.layer(c, e.name, attention_block=attention, cross=True)


def _whole(e: Encoder, c: ModelConfig) -> Module:
    pools = e.pooling != "never"
    pool = Linear(hidden(c), hidden(c), component=Component.HEAD, kind="pooler")
    return Module(
        "BigBirdModel",
        embeddings=e.embeddings(e, c),
        encoder=e.encoder(e, c),
        pooler=pool if pools else None,
        activation=Activation("Tanh") if pools else None,
    )


def _answers(c: ModelConfig) -> Module:
    """A head that ends in an MLP of its own: a part of the head, not of the layers."""
    mlp = {
        "intermediate": encoders.intermediate(c, "BigBird"),
        "output": encoders.output(c, "BigBird"),
    }
    for part in mlp.values():
        part.component = Component.HEAD
    return Module(
        "BigBirdForQuestionAnsweringHead",
        {"dropout": dropout(c), **mlp, "qa_outputs": classifier(hidden(c), 2)},
        component=Component.HEAD,
        kind="classifier",
    )


def _forms(e: Encoder) -> Forms:
    forms, bare = bert_forms(e), e.like(e.name, e.prefix, pooling="never")
    return {
        **forms,
        "ForPreTraining": pre_training(e)["ForPreTraining"],
        "ForCausalLM": forms["ForMaskedLM"],
        "ForSequenceClassification": first_token(e),
        "ForQuestionAnswering": {e.prefix: bare.model, "qa_classifier": _answers},
    }


BERT.like(
    "BigBird", "bert", layer=_layer, whole=_whole, pooling="always", forms=_forms,
    defaults={
        **BASE, "vocab_size": 50358, "max_position_embeddings": 4096, "hidden_act": "gelu_new",
    },
).register("big_bird")  # fmt: skip
