"""DeepSeek-V3.2 (DeepSeek-AI 2025; transformers/models/deepseek_v32): an indexer picks the keys."""

from ..layers.decoders import Decoder
from ..layers.latent_decoders import dense_first, latent, routed

Decoder(
    "DeepseekV32",
    rotary=False,
    tasks=(),
    attention=latent(seeks=64),
    moe=routed(2048, 256, 8, rerouted=True),
    kinds=dense_first(3, listed=True),
    predicts="sparse",
).register("deepseek_v32")
