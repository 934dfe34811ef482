"""ELECTRA (Clark et al. 2020). Source of shapes: transformers/models/electra/modeling_electra.py.

BERT's layers behind embeddings that may be narrower; a discriminator that finds replaced tokens
(``ForPreTraining``) and a small generator that proposes them (``ForMaskedLM``).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder, Forms, bert_forms, generating, narrow_tables, projected
from ..layers.blocks import activation
from ..layers.encoders import BASE, dropout, hidden, one_label
from ..trees.modules import Linear, Module
from .bert import BERT


def _discriminator(c: ModelConfig) -> Module:
    return Module(
        "ElectraDiscriminatorPredictions",
        dense=Linear(hidden(c), hidden(c)),
        activation=activation(c.text("hidden_act")),
        dense_prediction=Linear(hidden(c), 1),
        component=Component.HEAD,
        kind="classifier",
    )


def _classifier(c: ModelConfig) -> Module:
    return Module(
        "ElectraClassificationHead",
        dense=Linear(hidden(c), hidden(c)),
        activation=activation("gelu"),
        dropout=dropout(c),
        out_proj=Linear(hidden(c), c.num_labels),
        component=Component.HEAD,
        kind="classifier",
    )


def _summary(c: ModelConfig) -> Module:
    return encoders.sequence_summary(c, "Electra", project=True, activation_name="gelu")


def _forms(e: Encoder) -> Forms:
    return {
        "ForPreTraining": {"electra": e.bare, "discriminator_predictions": _discriminator},
        **bert_forms(e),
        "ForMaskedLM": generating(e),
        "ForCausalLM": generating(e),
        "ForSequenceClassification": {"electra": e.bare, "classifier": _classifier},
        "ForMultipleChoice": {
            "electra": e.bare, "sequence_summary": _summary, "classifier": one_label,
        },
    }  # fmt: skip


_DEFAULTS = {
    **BASE, "embedding_size": 128, "hidden_size": 256, "num_attention_heads": 4,
    "intermediate_size": 1024,
}  # fmt: skip
BERT.like(
    "Electra", "electra", defaults=_DEFAULTS, embeddings=narrow_tables, whole=projected,
    forms=_forms,
).register("electra")  # fmt: skip
