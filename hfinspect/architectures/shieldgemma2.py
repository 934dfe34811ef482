"""ShieldGemma 2 (Google 2025): whether an image breaks a policy, as Gemma 3 says yes or no.
Source: transformers/models/shieldgemma2/modeling_shieldgemma2.py."""

from ..core.config import ModelConfig
from ..trees.catalog import register
from ..trees.modules import Module
from . import gemma3

#: A save under this model_type knows no other text model.
_TEXT = "gemma3_text"


def generation(c: ModelConfig) -> Module:
    """Gemma 3 as a save under this model_type spells it: one prefix more."""
    # The head is tied unless the text section alone says otherwise.
    text_type = c.section("text_config").values.get("model_type", _TEXT)
    if text_type != _TEXT:
        raise c.section("text_config").error("model_type", text_type, _TEXT)
    key = "tie_word_embeddings"
    tied = c.section("text_config").values.get(key) is not False or c.values.get(key) is True
    whole = ModelConfig({**c.values, "tie_word_embeddings": tied}, c.path)
    parts = Module("Gemma3Model", {**gemma3.parts(whole, True)})
    text = parts.inside("language_model")
    text.class_name = "Gemma3TextModel"  # what stands there in memory
    parts.scope = True
    head = None if tied else text.children.pop("lm_head", None)
    return Module("Gemma3ForConditionalGeneration", model=parts, lm_head=head)


def classification(c: ModelConfig) -> Module:
    return Module("ShieldGemma2ForImageClassification", model=generation(c))


register(
    "shieldgemma2",
    {
        "ShieldGemma2ForImageClassification": classification,
        "Gemma3ForConditionalGeneration": generation,
    },
    base_prefix="model",
    aliases={  # the first release
        "model.vision_tower.vision_model.": "model.model.vision_tower.",
        "model.vision_tower.": "model.model.vision_tower.",
        "model.multi_modal_projector.": "model.model.multi_modal_projector.",
        "model.language_model.": "model.model.language_model.",
    },
    category="multimodal",
)
