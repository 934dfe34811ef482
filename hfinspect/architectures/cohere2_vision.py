"""Command A Vision (Cohere 2025). Source: transformers/models/cohere2_vision.

Aya Vision without the norm and with a much wider projector. File names: multimodal.py.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.multimodal import Joined
from ..trees.modules import Module
from .aya_vision import AYA, gated_projector

#: What Cohere2VisionConfig makes of an absent vision_config.
_VISION = {
    "hidden_size": 1152, "intermediate_size": 3072, "image_size": 512, "num_hidden_layers": 27,
    "num_attention_heads": 12,
}  # fmt: skip


def _projector(j: Joined, c: ModelConfig, width: Dim, text: Dim) -> Module:
    inner = c.dim("alignment_intermediate_size", default=36864)
    return gated_projector(j, c, width, inner, text, normed=False)


AYA.like("Cohere2Vision", projector=_projector, vision_defaults=_VISION, inside=True).register(
    "cohere2_vision"
)
