"""UltraBERT (DMIS 2026): Llama's layers without a causal mask. Files of the heads' classes keep the
model under ``ultrabert``, the projection to words as ``cls`` (transformers/models/ultrabert)."""

from ..layers.blocks import activation
from ..layers.composing import Form, composed
from ..layers.heads import classifier
from ..trees import Activation, Component, Dropout, Linear, ModelConfig, Module, register
from .llama import LLAMA

TEXT = LLAMA.like("Ultrabert")


def _prediction(c: ModelConfig) -> Module:
    """Two matrices of ``prediction_head_size``: 2·H·P weights."""
    h = TEXT.width(c)
    inner = c.dim("prediction_head_size", default=768)
    parts = {"linear1": Linear(h, inner, bias=False), "linear2": Linear(inner, h, bias=False)}
    parts["act"] = activation("gelu")
    return Module("UltrabertPredictionHead", parts, component=Component.HEAD, kind="transform")


def _words(c: ModelConfig) -> Module:
    return TEXT.words(c, "ultrabert.embed_tokens.weight" if c.tied(default=False) else None)


_NOTHING: Form = {"head": lambda _: Activation("Identity")}
_LABELLED: Form = {
    **_NOTHING,
    "drop": lambda c: Dropout(c.number("classifier_dropout", default=0.0)),
    "classifier": lambda c: classifier(TEXT.width(c), c.num_labels),
}
_FORMS: dict[str, Form] = {
    "ForMaskedLM": {"head": _prediction, "decoder": _NOTHING["head"], "cls": _words},
    "ForSequenceClassification": _LABELLED,
    "ForTokenClassification": _LABELLED,
    "ForQuestionAnswering": {"qa_outputs": lambda c: classifier(TEXT.width(c), 2)},
}
_HEADS = composed(
    {f"Ultrabert{end}": {"ultrabert": TEXT.model, **form} for end, form in _FORMS.items()}
)
register(
    "ultrabert",
    {**_HEADS, "UltrabertModel": TEXT.model},
    base_prefix="ultrabert",
    aliases={"model.": "ultrabert.", "head.decoder.": "cls."},
    category="encoder",
)
