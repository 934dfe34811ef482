"""LFM3-VL (Liquid AI 2026; transformers/models/lfm3_vl)."""

from ..layers.multimodal import Joined, two_linears
from ..trees import Dim, LayerNorm, ModelConfig, Module


def _projector(j: Joined, c: ModelConfig, width: Dim, text: Dim) -> Module:
    side = c.section("vision_config").dim("spatial_merge_size", default=2)
    return two_linears(
        f"{j.name}MultiModalProjector",
        c,
        width * side * side,
        c.dim("projector_hidden_size", default=4096),
        text,
        bias=c.flag("projector_bias", default=True),
        layer_norm=LayerNorm(width, eps=1e-6),
    )


Joined("Lfm3Vl", "lfm3_vl_vision", "lfm3", projector=_projector, inside=True).register("lfm3_vl")
