"""GLM-4.6V as a composite of any tower and decoder. Source: transformers/models/glm46v.

By default those of GLM-4.1V (glm4v.py), under other class names.
"""

from ..core.config import ModelConfig
from ..layers.multimodal import register_worded
from ..trees.catalog import auto_model
from ..trees.modules import Module


def base(c: ModelConfig) -> Module:
    return Module(
        "Glm46VModel",
        visual=auto_model(c.section("vision_config"), default_type="glm4v_vision", part="vision"),
        language_model=auto_model(c.section("text_config"), default_type="glm4v_text"),
    )


register_worded(("glm46v", "glmga"), "Glm46V", base, tied=False)
