"""UltraVBERT (2026). Source of shapes: transformers/models/ultravbert.

SigLIP's tower, one linear layer and a norm over squares of patches joined together, and UltraBERT.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.composing import Part, composed
from ..layers.heads import classifier, to_words
from ..layers.multimodal import nested
from ..trees.catalog import auto_model, register
from ..trees.modules import Linear, Module, RMSNorm
from .ultrabert import BEFORE_LABELS, TEXT, prediction

_NAME = "UltraVBert"


def _text(c: ModelConfig) -> ModelConfig:
    """Raises ConfigError for another model than UltraBERT."""
    section = c.section("text_config").read_as("ultrabert")
    if section.model_type not in (None, "ultrabert"):
        raise section.error("model_type", section.model_type, "ultrabert")
    return section


def model(c: ModelConfig) -> Module:
    vision, text = nested(c, "vision_config", vision_use_head=False), _text(c)
    side, h = c.dim("pixel_shuffle_factor", default=4), TEXT.width(text)
    joined = vision.dim("hidden_size", default=768) * side * side
    return Module(
        f"{_NAME}Model",
        vision_model=auto_model(vision, default_type="siglip_vision_model", part="vision"),
        connector=Module(
            f"{_NAME}Connector",
            modality_projection=Linear(joined, h, bias=False),
            norm=RMSNorm(h, class_name=f"{_NAME}RMSNorm"),
            component=Component.PROJECTOR,
            part="projector",
        ),
        text_model=TEXT.model(text),
    )


def masked_lm(c: ModelConfig) -> Module:
    text = _text(c)
    tied = "model.text_model.embed_tokens.weight" if c.tied(default=False) else None
    head = prediction(text, _NAME)
    head.children["decoder"] = to_words(TEXT.width(text), TEXT.size(text, "vocab_size"), tied)
    return Module(f"{_NAME}ForMaskedLM", model=model(c), head=head)


def _labels(c: ModelConfig) -> Module:
    return classifier(TEXT.width(_text(c)), c.num_labels)


_LABELLED: dict[str, Part] = {"model": model, **BEFORE_LABELS, "classifier": _labels}

register(
    "ultravbert",
    composed(
        {
            f"{_NAME}ForMaskedLM": masked_lm,
            f"{_NAME}Model": model,
            f"{_NAME}ForSequenceClassification": _LABELLED,
            f"{_NAME}ForTokenClassification": _LABELLED,
        }
    ),
    base_prefix="model",
    aliases={"projection_head.": "head.", "lm_head.": "head.decoder."},
    category="multimodal",
)
