"""Qwen1.5-MoE and Qwen2-MoE (Qwen team 2024; transformers/models/qwen2_moe)."""

from ..layers.decoders import Decoder
from ..layers.layer_kinds import stepped
from ..layers.mixtures import counts, qwen
from ..layers.windows import nowhere, windows
from ..trees import ModelConfig, WindowsOf

_EXPERTS = counts("num_experts", default=60)


def _windows(c: ModelConfig) -> WindowsOf:
    """Only with ``use_sliding_window``: every second of the first ``max_window_layers`` layers."""
    if not c.flag("use_sliding_window", default=False):
        return nowhere
    first = int(c.count("max_window_layers", default=28))
    return windows(c, 4096, lambda i, _: i % 2 == 1 or i >= first)


Decoder(
    "Qwen2Moe",
    bias_key="qkv_bias",
    out_bias=False,
    rotary=False,
    windows=_windows,
    moe=qwen(_EXPERTS, 4, 1408, 5632),
    kinds=stepped(_EXPERTS),
).register("qwen2_moe")
