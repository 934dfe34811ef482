"""LFM2-VL (Liquid AI 2025). Source: transformers/models/lfm2_vl/modeling_lfm2_vl.py.

SigLIP 2, a projector over squares of patches joined together, and LFM2. File names: multimodal.py.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.multimodal import Joined, projector
from ..trees.modules import LayerNorm, Linear, Module


def _projector(_j: Joined, c: ModelConfig, width: Dim, text: Dim) -> Module:
    side, inner = (
        c.dim("downsample_factor", default=2),
        c.dim("projector_hidden_size", default=2560),
    )
    joined, bias = width * side * side, c.flag("projector_bias", default=True)
    normed = c.flag("projector_use_layernorm", default=True)
    return projector(
        "Lfm2VlMultiModalProjector",
        layer_norm=LayerNorm(joined) if normed else None,
        linear_1=Linear(joined, inner, bias=bias),
        act=activation(c.text("projector_hidden_act", default="gelu")),
        linear_2=Linear(inner, text, bias=bias),
    )


Joined(
    "Lfm2Vl",
    "siglip2_vision_model",
    "lfm2",
    projector=_projector,
    tying=("tie_embedding", "tie_word_embeddings"),
    inside=True,
).register("lfm2_vl")
