"""Aya Vision (Dash et al. 2025): SigLIP, a projector over squares of patches whose first layer is
split in two, one half gating the other, and Command R7B. Source: transformers/models/aya_vision."""

from ..layers.multimodal import Joined, projector
from ..trees import Activation, Dim, LayerNorm, Linear, ModelConfig, Module
from .llava_onevision import SO400M


def gated_projector(j: Joined, c: ModelConfig, width: Dim, text: Dim, usual: int = 0) -> Module:
    """``usual`` is the default of the width between the layers, of which half gates; without one it
    is the text's, and a norm stands before."""
    side = c.dim("downsample_factor", default=2)
    joined = width * side * side
    act = "SiLU" if usual else "SiLUActivation"
    inner = c.dim(key := "alignment_intermediate_size", default=usual or text)
    half = c.divided(inner, 2, "the projector's width", key)
    return projector(
        f"{j.name}MultiModalProjector",
        layernorm=None if usual else LayerNorm(joined),
        linear_1=Linear(joined, inner),
        act=Activation(act),
        linear_2=Linear(half, text),
    )


AYA = Joined(
    "AyaVision",
    "siglip_vision_model",
    "cohere2",
    projector=gated_projector,
    vision_defaults={**SO400M, "num_attention_heads": 14},
).register("aya_vision")
