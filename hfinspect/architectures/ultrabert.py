"""UltraBERT (DMIS 2026). Source of shapes: transformers/models/ultrabert.

Llama's layers without a causal mask, two of three with a window; a head of two small matrices.
Files of the heads' classes keep the model under ``ultrabert``, the projection to words as ``cls``.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation
from ..layers.composing import Part, composed
from ..layers.heads import classifier, to_words
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Linear, Module
from .llama import LLAMA

TEXT = LLAMA.like("Ultrabert", null_head_dim=False)


def prediction(c: ModelConfig) -> Module:
    """Two matrices of ``prediction_head_size``: 2·H·P weights."""
    h, inner = TEXT.width(c), c.dim("prediction_head_size", default=768)
    return Module(
        "UltrabertPredictionHead",
        linear1=Linear(h, inner, bias=False),
        linear2=Linear(inner, h, bias=False),
        act=activation("gelu"),
        component=Component.HEAD,
        kind="transform",
    )


def masked_lm(c: ModelConfig) -> Module:
    tied = "ultrabert.embed_tokens.weight" if c.tied(default=False) else None
    return Module(
        "UltrabertForMaskedLM",
        ultrabert=TEXT.model(c),
        head=prediction(c),
        decoder=Activation("Identity"),
        cls=to_words(TEXT.width(c), TEXT.size(c, "vocab_size"), tied),
    )


def _span(c: ModelConfig) -> Module:
    return classifier(TEXT.width(c), 2)


_LABELLED: dict[str, Part] = {
    "ultrabert": TEXT.model,
    "head": lambda _: Activation("Identity"),
    "drop": lambda c: Dropout(c.number("classifier_dropout", default=0.0)),
    "classifier": lambda c: classifier(TEXT.width(c), c.num_labels),
}

register(
    "ultrabert",
    composed(
        {
            "UltrabertForMaskedLM": masked_lm,
            "UltrabertModel": TEXT.model,
            "UltrabertForSequenceClassification": _LABELLED,
            "UltrabertForTokenClassification": _LABELLED,
            "UltrabertForQuestionAnswering": {"ultrabert": TEXT.model, "qa_outputs": _span},
        }
    ),
    base_prefix="ultrabert",
    aliases={"model.": "ultrabert.", "head.decoder.": "cls."},
    category="encoder",
)
