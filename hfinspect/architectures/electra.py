"""ELECTRA (Clark et al. 2020). Source of shapes: transformers/models/electra/modeling_electra.py.

BERT's layers behind embeddings that may be narrower; a discriminator that finds replaced tokens
(``ForPreTraining``) and a small generator that proposes them (``ForMaskedLM``).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.blocks import activation
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels, norm, one_label, vocab
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import Linear, Module

_TABLE = "electra.embeddings.word_embeddings.weight"
_DEFAULTS = {
    **BASE, "embedding_size": 128, "hidden_size": 256, "num_attention_heads": 4,
    "intermediate_size": 1024,
}  # fmt: skip


def _width(c: ModelConfig) -> Dim:
    return c.dim("embedding_size")


def model(c: ModelConfig) -> Module:
    project = Linear(_width(c), hidden(c), component=Component.EMBEDDING, kind="token")
    return Module(
        "ElectraModel",
        embeddings=encoders.embeddings(c, "Electra", width=_width(c)),
        embeddings_project=project if _width(c) != hidden(c) else None,
        encoder=encoders.encoder(c, "Electra", cross=True),
    )


def discriminator(c: ModelConfig) -> Module:
    return Module(
        "ElectraDiscriminatorPredictions",
        dense=Linear(hidden(c), hidden(c)),
        activation=activation(c.text("hidden_act")),
        dense_prediction=Linear(hidden(c), 1),
        component=Component.HEAD,
        kind="classifier",
    )


def generator(c: ModelConfig) -> Module:
    return Module(
        "ElectraGeneratorPredictions",
        activation=activation("gelu"),
        LayerNorm=norm(c, _width(c)),
        dense=Linear(hidden(c), _width(c), kind="transform"),
        component=Component.HEAD,
    )


def generator_lm_head(c: ModelConfig) -> Module:
    tied_to = _TABLE if c.tied() else None
    return to_words(_width(c), vocab(c), tied_to, bias=True)


def classification_head(c: ModelConfig) -> Module:
    return Module(
        "ElectraClassificationHead",
        dense=Linear(hidden(c), hidden(c)),
        activation=activation("gelu"),
        dropout=dropout(c),
        out_proj=Linear(hidden(c), c.num_labels),
        component=Component.HEAD,
        kind="classifier",
    )


def sequence_summary(c: ModelConfig) -> Module:
    return encoders.sequence_summary(c, "Electra", project=True, activation_name="gelu")


_GENERATOR = {
    "electra": model,
    "generator_predictions": generator,
    "generator_lm_head": generator_lm_head,
}
_CLASSES = composed(
    {
        "ElectraForPreTraining": {"electra": model, "discriminator_predictions": discriminator},
        "ElectraModel": model,
        "ElectraForMaskedLM": _GENERATOR,
        "ElectraForCausalLM": _GENERATOR,
        "ElectraForSequenceClassification": {"electra": model, "classifier": classification_head},
        "ElectraForTokenClassification": {
            "electra": model,
            "dropout": dropout,
            "classifier": labels,
        },
        "ElectraForQuestionAnswering": {"electra": model, "qa_outputs": labels},
        "ElectraForMultipleChoice": {
            "electra": model,
            "sequence_summary": sequence_summary,
            "classifier": one_label,
        },
    }
)

register("electra", with_defaults(_DEFAULTS, _CLASSES), base_prefix="electra", category="encoder")
