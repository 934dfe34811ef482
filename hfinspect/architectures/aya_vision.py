"""Aya Vision (Dash et al. 2025). Source: transformers/models/aya_vision/modeling_aya_vision.py.

SigLIP, a projector over squares of patches joined together whose first layer is split in two, one
half gating the other, and Command R7B. File names and their other spellings: multimodal.py.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import Joined, projector
from ..trees.modules import Activation, LayerNorm, Linear, Module

#: What AyaVisionConfig makes of an absent vision_config.
_VISION = {
    "hidden_size": 1152, "intermediate_size": 4304, "patch_size": 14, "image_size": 384,
    "num_hidden_layers": 26, "num_attention_heads": 14, "vision_use_head": False,
}  # fmt: skip


def gated_projector(
    j: Joined, c: ModelConfig, width: Dim, inner: Dim, text: Dim, *, normed: bool
) -> Module:
    """A square of patches through two layers, ``inner`` wide in between, of which half gates."""
    side = c.dim("downsample_factor", default=2)
    joined = width * side * side
    half = c.divided(inner, 2, "the projector's width", "alignment_intermediate_size")
    return projector(
        f"{j.name}MultiModalProjector",
        layernorm=LayerNorm(joined) if normed else None,
        linear_1=Linear(joined, inner),
        act=Activation("SiLUActivation" if normed else "SiLU"),
        linear_2=Linear(half, text),
    )


def _projector(j: Joined, c: ModelConfig, width: Dim, text: Dim) -> Module:
    inner = c.dim("alignment_intermediate_size", default=text)
    return gated_projector(j, c, width, inner, text, normed=True)


AYA = Joined(
    "AyaVision", "siglip_vision_model", "cohere2", projector=_projector, vision_defaults=_VISION
).register("aya_vision")
