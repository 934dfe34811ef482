"""GLM-4.7-Flash (Z.ai 2026; transformers/models/glm4_moe_lite): DeepSeek-V3 in little."""

from ..layers.decoders import Decoder
from ..layers.latent_decoders import dense_first, latent, routed

Decoder(
    "Glm4MoeLite",
    rotary=False,
    tasks=(),
    attention=latent(query_rank=768, plain=192, value=256),
    moe=routed(1536, 64, 4),
    kinds=dense_first(1, listed=True),
    predicts="sparse",
).register("glm4_moe_lite")
