"""Mellum 2 (JetBrains 2026; transformers/models/mellum): Qwen3-MoE with ``mlp_layer_types``."""

from ..layers.decoders import Decoder
from ..layers.layer_kinds import mlps
from ..layers.mixtures import counts, qwen
from ..layers.windows import windows

Decoder(
    "Mellum",
    qk_norm=True,
    rotary=False,
    tasks=(),
    moe=qwen(counts("num_experts", "num_local_experts", default=64), 8, 896),
    kinds=mlps(lambda _c, _i: "sparse"),
    windows=lambda c: windows(c, 1024, lambda _i, _n: True),
).register("mellum")
