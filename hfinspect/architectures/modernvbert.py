"""ModernVBERT (Teiletche et al. 2025). Source of shapes: transformers/models/modernvbert.

A SigLIP tower, one linear layer over squares of patches joined together, and ModernBERT.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.composing import Part, composed
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
    eps = text.number("norm_eps", default=1e-5)
    return Module(
        f"{_NAME}PredictionHead",
        dense=Linear(h, h, bias=text.flag("classifier_bias", default=False), kind="transform"),
        act=activation(text.text("classifier_activation", default="gelu")),
        norm=LayerNorm(h, eps=eps, bias=text.flag("norm_bias", default=False)),
        component=Component.HEAD,
    )


def words(c: ModelConfig) -> Module:
    text = _text(c)
    to = "model.text_model.embeddings.tok_embeddings.weight" if c.tied(default=False) else None
    vocab, bias = text.dim("vocab_size", default=50368), text.flag("decoder_bias", default=True)
    return to_words(_hidden(c), vocab, to, bias=bias)


def labels(c: ModelConfig) -> Module:
    return classifier(_hidden(c), c.num_labels)


_LABELLED: dict[str, Part] = {"model": model, "head": prediction, "classifier": labels}
_CLASSES = composed(
    {
        f"{_NAME}ForMaskedLM": {"model": model, "projection_head": prediction, "lm_head": words},
        f"{_NAME}Model": model,
        f"{_NAME}ForSequenceClassification": _LABELLED,
        f"{_NAME}ForTokenClassification": _LABELLED,
    }
)
register("modernvbert", _CLASSES, base_prefix="model", category="multimodal")
