"""OpenAI's privacy filter (2026; transformers/models/openai_privacy_filter): a small gpt-oss
(gpt_oss.py) that gives every token a label, by default one of 33."""

from ..layers.composing import renamed
from ..layers.heads import classifier
from ..trees import Dropout, ModelConfig, Module, config_defaults, register
from .gpt_oss import GPT_OSS

_NAME = "OpenAIPrivacyFilter"


def _model(c: ModelConfig) -> Module:
    extra = {"num_local_experts": c.raw("num_experts")} if c.has("num_experts") else {}
    built = GPT_OSS.model(c.with_defaults(**{**config_defaults("openai_privacy_filter"), **extra}))
    return renamed(renamed(built, "GptOssDecoder", f"{_NAME}Encoder"), "GptOss", _NAME)


def _token_classification(c: ModelConfig) -> Module:
    hidden = c.dim("hidden_size", default=640)
    bias = c.flag("token_classification_bias", default=True)
    labels = c.num_labels if c.has("id2label") else c.dim("num_labels", default=33)
    return Module(
        f"{_NAME}ForTokenClassification",
        model=_model(c),
        dropout=Dropout(c.number("classifier_dropout", default=0.0)),
        score=classifier(hidden, labels, bias=bias),
    )


_CLASSES = {f"{_NAME}ForTokenClassification": _token_classification, f"{_NAME}Model": _model}
register("openai_privacy_filter", _CLASSES, base_prefix="model", category="encoder")
