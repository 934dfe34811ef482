"""GLM-4.7-Flash (Z.ai 2026; transformers/models/glm4_moe_lite): DeepSeek-V3 in little."""

from ..layers.decoders import Decoder
from ..layers.latent_decoders import dense_first, latent, routed

Decoder(
    "Glm4MoeLite",
    vocab_size=154880,
    hidden_size=2048,
    intermediate_size=10240,
    num_hidden_layers=47,
    num_attention_heads=20,
    rms_norm_eps=1e-05,
    rotary=False,
    endings=(),
    attention=latent(query_rank=768, plain=192, value=256),
    moe=routed(1536, 64, 4),
    kinds=dense_first(1, listed=True),
    predicts="sparse",
).register("glm4_moe_lite")
