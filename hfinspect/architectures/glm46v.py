"""GLM-4.6V as a composite of any tower and decoder (transformers/models/glm46v). By default those
of GLM-4.1V (glm4v.py), under other class names."""

from ..layers.multimodal import any_model, register_worded

_PARTS = {
    "visual": any_model("vision_config", "glm4v_vision", "vision"),
    "language_model": any_model("text_config", "glm4v_text"),
}
register_worded(("glm46v", "glmga"), "Glm46V", _PARTS, tied=False)
