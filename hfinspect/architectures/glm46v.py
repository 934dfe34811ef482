"""GLM-4.6V (transformers/models/glm46v): any tower and decoder, else GLM-4.1V's (glm4v.py)."""

from ..layers.multimodal import any_model, register_worded

_PARTS = {
    "visual": any_model("vision_config", "glm4v_vision", "vision"),
    "language_model": any_model("text_config", "glm4v_text"),
}
register_worded(("glm46v", "glmga"), "Glm46V", _PARTS, tied=False)
