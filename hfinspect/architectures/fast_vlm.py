"""FastVLM (Vasu et al. 2025): timm's FastViT with merged branches, LLaVA's projector and Qwen2.
Source of shapes: transformers/models/fast_vlm."""

from ..layers.multimodal import Joined, two_layers
from ..trees import Dim, ModelConfig, Module, config_defaults

VISION = config_defaults("fast_vlm")


def _projector(j: Joined, c: ModelConfig, _width: Dim, text: Dim) -> Module:
    """The section says the width, which timm's network does not have under that name."""
    return two_layers(j, c, c.section("vision_config", default=VISION).dim("hidden_size"), text)


Joined(
    "FastVlm",
    "timm_wrapper",
    "qwen2",
    projector=_projector,
    vision_defaults=VISION,
    text_defaults=config_defaults("fast_vlm.text"),
    tied=False,
    text_ties=True,
    inside=True,
).register("fast_vlm")
