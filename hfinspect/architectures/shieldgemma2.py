"""ShieldGemma 2 (Google 2025): whether an image breaks a policy, as Gemma 3 says yes or no.
Source: transformers/models/shieldgemma2/modeling_shieldgemma2.py."""

from ..core.config import ModelConfig
from ..trees.catalog import register
from ..trees.modules import Module
from . import gemma3


def _generation(c: ModelConfig) -> Module:
    """Gemma 3 as a save under this model_type spells it: one prefix more."""
    key = "tie_word_embeddings"
    # A save knows no other text model; the head is tied unless the text section says otherwise.
    text, known = c.section("text_config"), "gemma3_text"
    if text.values.get("model_type", known) != known:
        raise text.error("model_type", text.values["model_type"], known)
    tied = text.values.get(key) is not False or c.values.get(key) is True
    whole = c.with_values(tie_word_embeddings=tied)
    parts = Module("Gemma3Model", {**gemma3.parts(whole, True)})
    words = parts.inside("language_model")
    words.class_name = "Gemma3TextModel"  # what stands there in memory
    parts.scope = True
    head = None if tied else words.children.pop("lm_head", None)
    return Module("Gemma3ForConditionalGeneration", model=parts, lm_head=head)


def _classification(c: ModelConfig) -> Module:
    return Module("ShieldGemma2ForImageClassification", model=_generation(c))


_CLASSES = {
    "ShieldGemma2ForImageClassification": _classification,
    "Gemma3ForConditionalGeneration": _generation,
}
_PARTS = ("vision_tower", "multi_modal_projector", "language_model")
_FIRST = {"model.vision_tower.vision_model.": "model.model.vision_tower."}
register(
    "shieldgemma2", _CLASSES, base_prefix="model", category="multimodal",
    aliases=_FIRST | {f"model.{part}.": f"model.model.{part}." for part in _PARTS},
)  # fmt: skip
