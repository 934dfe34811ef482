"""ModernVBERT (Teiletche et al. 2025). Source of shapes: transformers/models/modernvbert.

A SigLIP tower, one linear layer over squares of patches joined together, and ModernBERT.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.heads import classifier, to_words
from ..trees.catalog import auto_model, register
from ..trees.modules import LayerNorm, Linear, Module

_NAME = "ModernVBert"


def _text(c: ModelConfig) -> ModelConfig:
    return c.section("text_config")


def _hidden(c: ModelConfig) -> Dim:
    return _text(c).dim("hidden_size", default=768)


def model(c: ModelConfig) -> Module:
    vision = c.section("vision_config")
    side = c.dim("pixel_shuffle_factor", default=4)
    joined = vision.dim("hidden_size", default=768) * side * side
    return Module(
        f"{_NAME}Model",
        vision_model=auto_model(vision, default_type="siglip_vision_model", part="vision"),
        connector=Module(
            f"{_NAME}Connector",
            modality_projection=Linear(joined, _hidden(c), bias=False),
            component=Component.PROJECTOR,
            part="projector",
        ),
        text_model=auto_model(_text(c), default_type="modernbert"),
    )


def prediction(c: ModelConfig) -> Module:
    text, h = _text(c), _hidden(c)
    return Module(
        f"{_NAME}PredictionHead",
        dense=Linear(h, h, bias=text.flag("classifier_bias", default=False), kind="transform"),
        act=activation(text.text("classifier_activation", default="gelu")),
        norm=LayerNorm(
            h,
            eps=text.number("norm_eps", default=1e-5),
            bias=text.flag("norm_bias", default=False),
        ),
        component=Component.HEAD,
    )


def masked_lm(c: ModelConfig) -> Module:
    text = _text(c)
    tied = c.tied(default=False)
    head = to_words(
        _hidden(c),
        text.dim("vocab_size", default=50368),
        "model.text_model.embeddings.tok_embeddings.weight" if tied else None,
        bias=text.flag("decoder_bias", default=True),
    )
    return Module(
        f"{_NAME}ForMaskedLM", model=model(c), projection_head=prediction(c), lm_head=head
    )


def _classified(c: ModelConfig, suffix: str) -> Module:
    return Module(
        f"{_NAME}{suffix}",
        model=model(c),
        head=prediction(c),
        classifier=classifier(_hidden(c), c.num_labels),
    )


register(
    "modernvbert",
    {
        f"{_NAME}ForMaskedLM": masked_lm,
        f"{_NAME}Model": model,
        f"{_NAME}ForSequenceClassification": lambda c: _classified(c, "ForSequenceClassification"),
        f"{_NAME}ForTokenClassification": lambda c: _classified(c, "ForTokenClassification"),
    },
    base_prefix="model",
    category="multimodal",
)
