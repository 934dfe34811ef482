"""Solar Open (Upstage 2025; transformers/models/solar_open): DeepSeek-V3's experts."""

from ..layers.decoders import Decoder
from ..layers.latent_decoders import routed

Decoder(
    "SolarOpen",
    vocab_size=196608,
    intermediate_size=10240,
    num_hidden_layers=48,
    num_attention_heads=64,
    num_key_value_heads=8,
    head_dim=128,
    rms_norm_eps=1e-05,
    rotary=False,
    endings=(),
    moe=routed(1280, 128, 8),
    kinds=lambda _d, _c, layers: ["sparse"] * layers,
    predicts="sparse",
    out_bias=False,
).register("solar_open")
