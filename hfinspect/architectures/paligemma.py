"""PaliGemma (Beyer et al. 2024): a SigLIP tower, one linear layer, and Gemma. Source:
transformers/models/paligemma/modeling_paligemma.py."""

from ..layers.multimodal import Joined, projector
from ..trees import config_defaults
from ..trees.modules import Linear

#: What PaliGemmaConfig makes of absent sections: the 3B model.
VISION = config_defaults("paligemma")
TEXT = config_defaults("paligemma.text")
Joined(
    "PaliGemma",
    "siglip_vision_model",
    "gemma",
    vision_defaults=VISION,
    text_defaults=TEXT,
    # The key at the top counts, also against a projection_dim in vision_config.
    projector=lambda j, c, width, _: projector(
        f"{j.name}MultiModalProjector", linear=Linear(width, c.dim("projection_dim", default=2048))
    ),
).register("paligemma")
