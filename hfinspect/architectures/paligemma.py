"""PaliGemma (Beyer et al. 2024): a SigLIP tower, one linear layer, and Gemma. Source:
transformers/models/paligemma/modeling_paligemma.py."""

from ..layers.multimodal import Joined, projector
from ..trees.modules import Linear

#: What PaliGemmaConfig makes of absent sections: the 3B model.
VISION = {
    "intermediate_size": 4096,
    "hidden_size": 1152,
    "patch_size": 14,
    "image_size": 224,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "vision_use_head": False,
}
TEXT = {
    "hidden_size": 2048,
    "num_hidden_layers": 18,
    "intermediate_size": 16384,
    "num_attention_heads": 8,
    "num_key_value_heads": 1,
    "vocab_size": 257152,
}
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
