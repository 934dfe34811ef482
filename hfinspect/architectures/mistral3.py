"""Mistral Small 3.1 and later with vision. Source: transformers/models/mistral3.

Pixtral's tower, a merger of 2x2 patches and two linear layers, Mistral's decoder. File names and
their other spellings: multimodal.py.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import Joined, two_layer_projector
from ..trees.modules import Linear, Module, RMSNorm

#: What Mistral3Config makes of absent sections: Mistral Small 3.1.
VISION = {
    "intermediate_size": 4096, "hidden_size": 1024, "patch_size": 14, "image_size": 1540,
    "num_hidden_layers": 24, "num_attention_heads": 16,
}  # fmt: skip
TEXT = {
    "head_dim": 128, "hidden_size": 5120, "intermediate_size": 32768, "num_attention_heads": 32,
    "num_hidden_layers": 40, "num_key_value_heads": 8, "vocab_size": 131072,
}  # fmt: skip


def _projector(j: Joined, c: ModelConfig, width: Dim, text: Dim) -> Module:
    side, bias = (
        c.dim("spatial_merge_size", default=2),
        c.flag("multimodal_projector_bias", default=False),
    )
    block = two_layer_projector(f"{j.name}MultiModalProjector", c, width, text, bias=bias)
    merged = Linear(width * side * side, width, bias=False)
    block.children = {
        "norm": RMSNorm(width, class_name="Mistral3RMSNorm"),
        "patch_merger": Module("Mistral3PatchMerger", merging_layer=merged),
        **block.children,
    }
    return block


Joined(
    "Mistral3",
    "pixtral",
    "mistral",
    projector=_projector,
    vision_defaults=VISION,
    text_defaults=TEXT,
).register("mistral3")
