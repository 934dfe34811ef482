"""MiniCPM-V 4.6 (OpenBMB 2026; transformers/models/minicpmv4_6): SigLIP with a merger between its
layers (a trace), a projector that halves the grid ``merger_times`` times, any text tower."""

from ..layers.multimodal import any_model, projector, register_worded, two_linears, within
from ..trees import Activation, LayerNorm, ModelConfig, Module, ModuleList


def _merger(c: ModelConfig) -> Module:
    h = c.section("vision_config").dim("hidden_size", default=768)
    out = c.section("text_config").dim("hidden_size", default=4096)
    act = Activation("GELU", "approximate='none'")
    name = "MiniCPMV4_6DownsampleMLP"
    wide = h * 4
    again, last = (
        two_linears(name, c, wide, wide, to, act=act, pre_norm=LayerNorm(wide, eps=1e-6))
        for to in (h, out)
    )
    times = int(c.count("merger_times", default=1))
    return projector("MiniCPMV4_6Merger", mlp=ModuleList([*[again] * (times - 1), last]))


PARTS = {
    "vision_tower": within("vision_config", "MiniCPMV4_6VisionModel"),
    "language_model": any_model("text_config", "qwen3_5_text"),
    "merger": _merger,
}
register_worded("minicpmv4_6", "MiniCPMV4_6", PARTS, tied=False)
