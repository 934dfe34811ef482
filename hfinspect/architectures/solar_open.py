"""Solar Open (Upstage 2025; transformers/models/solar_open): DeepSeek-V3's experts."""

from ..layers.decoders import Decoder
from ..layers.latent_decoders import routed

Decoder(
    "SolarOpen",
    rotary=False,
    tasks=(),
    moe=routed(1280, 128, 8),
    kinds=lambda _d, _c, layers: ["sparse"] * layers,
    predicts="sparse",
    out_bias=False,
).register("solar_open")
