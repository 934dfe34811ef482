"""ELECTRA (Clark et al. 2020): a discriminator that finds replaced tokens (``ForPreTraining``) and
a small generator that proposes them (``ForMaskedLM``; transformers/models/electra)."""

from functools import partial

from ..layers.bert_encoders import Encoder, bert_forms, generating, narrow_tables, projected
from ..layers.blocks import activation
from ..layers.composing import Forms
from ..layers.encoders import BASE, dropout, hidden, one_label, sequence_summary
from ..trees import Component, Linear, ModelConfig, Module
from .bert import BERT


def _head(c: ModelConfig, name: str, act: str | None, **more: Module) -> Module:
    parts = {"dense": Linear(hidden(c), hidden(c)), "activation": activation(act), **more}
    return Module(f"Electra{name}", parts, component=Component.HEAD, kind="classifier")


def _discriminator(c: ModelConfig) -> Module:
    scores = Linear(hidden(c), 1)
    return _head(c, "DiscriminatorPredictions", c.text("hidden_act"), dense_prediction=scores)


def _classifier(c: ModelConfig) -> Module:
    out = Linear(hidden(c), c.num_labels)
    return _head(c, "ClassificationHead", "gelu", dropout=dropout(c), out_proj=out)


_summary = partial(sequence_summary, name="Electra", project=True, activation_name="gelu")


def _forms(e: Encoder) -> Forms:
    p = e.prefix
    return {
        "ForPreTraining": {p: e.bare, "discriminator_predictions": _discriminator},
        **bert_forms(e),
        "ForMaskedLM": generating(e),
        "ForCausalLM": generating(e),
        "ForSequenceClassification": {p: e.bare, "classifier": _classifier},
        "ForMultipleChoice": {p: e.bare, "sequence_summary": _summary, "classifier": one_label},
    }


_SIZES = {"hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024}
BERT.like(
    "Electra",
    "electra",
    defaults={**BASE, "embedding_size": 128, **_SIZES},
    embeddings=narrow_tables,
    make_model=projected,
    forms=_forms,
).register("electra")
