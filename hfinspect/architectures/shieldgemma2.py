"""ShieldGemma 2 (Google 2025): whether an image breaks a policy, as Gemma 3 says yes or no.
Source: transformers/models/shieldgemma2."""

from ..layers.composing import composed
from ..trees import ModelConfig, Module, register
from . import gemma3


def _generation(c: ModelConfig) -> Module:
    """Gemma 3 as a save under this model_type spells it: one prefix more."""
    # A save knows no other text model; the head is tied unless the text section says otherwise.
    key = "tie_word_embeddings"
    text = c.section("text_config").of_type("gemma3_text")
    tied = text.values.get(key) is not False or c.values.get(key) is True
    own_parts = gemma3.parts(c.with_values(**{key: tied}), True)
    parts = Module("Gemma3Model", {**own_parts}, scope=True)
    words = parts.inside("language_model").called("Gemma3TextModel")  # what stands there in memory
    head = None if tied else words.children.pop("lm_head", None)
    return Module("Gemma3ForConditionalGeneration", model=parts, lm_head=head)


_CLASSES = {
    **composed({"ShieldGemma2ForImageClassification": {"model": _generation}}),
    "Gemma3ForConditionalGeneration": _generation,
}
_PARTS = ("vision_tower", "multi_modal_projector", "language_model")
_FIRST = {"model.vision_tower.vision_model.": "model.model.vision_tower."}
register(
    "shieldgemma2",
    _CLASSES,
    base_prefix="model",
    category="multimodal",
    aliases=_FIRST | {f"model.{part}.": f"model.model.{part}." for part in _PARTS},
)
