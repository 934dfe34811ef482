"""LFM2-VL (Liquid AI 2025): SigLIP 2, a projector over squares of patches, and LFM2. Source:
transformers/models/lfm2_vl/modeling_lfm2_vl.py. File names: multimodal.py."""

from ..layers.multimodal import Joined, two_linears
from ..trees import Dim, LayerNorm, ModelConfig, Module


def _projector(j: Joined, c: ModelConfig, width: Dim, text: Dim) -> Module:
    side = c.dim("downsample_factor", default=2)
    bias = c.flag("projector_bias", default=True)
    joined = width * side * side
    inner = c.dim("projector_hidden_size", default=2560)
    norm = LayerNorm(joined) if c.flag("projector_use_layernorm", default=True) else None
    name = f"{j.name}MultiModalProjector"
    return two_linears(name, c, joined, inner, text, bias=bias, layer_norm=norm)


Joined(
    "Lfm2Vl",
    "siglip2_vision_model",
    "lfm2",
    projector=_projector,
    inside=True,
    tying=("tie_embedding", "tie_word_embeddings"),
).register("lfm2_vl")
