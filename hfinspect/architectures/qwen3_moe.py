"""Qwen3-MoE (Qwen team 2025; transformers/models/qwen3_moe)."""

from ..layers.layer_kinds import stepped
from ..layers.mixtures import counts, qwen
from ..layers.windows import switched_windows
from .llama import LLAMA

_EXPERTS = counts("num_experts", default=128)
QWEN3_MOE = LLAMA.like(
    "Qwen3Moe",
    mlp_bias=None,
    qk_norm=True,
    rotary=False,
    windows=lambda c: switched_windows(c, 4096, 0),
    moe=qwen(_EXPERTS, 8, 768),
    kinds=stepped(_EXPERTS),
).register("qwen3_moe")
