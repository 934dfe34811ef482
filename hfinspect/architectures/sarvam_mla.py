"""Sarvam-105B (Sarvam AI 2026; transformers/models/sarvam_mla): DeepSeek-V3's own classes with
other sizes, and no compressed queries."""

from ..layers.decoders import LABEL_HEADS, Decoder
from ..layers.latent_decoders import dense_first, latent, routed

Decoder(
    "DeepseekV3",
    rotary=False,
    tasks=LABEL_HEADS,
    attention=latent(query_rank=None),
    moe=routed(2048, 128, 8),
    kinds=dense_first(1),
    predicts="sparse",
).register("sarvam_mla")
