"""OLMoE (Muennighoff et al. 2024; transformers/models/olmoe): experts in every layer."""

from ..layers.decoders import Decoder, adding, grouped, normed
from ..layers.mixtures import counts, qwen

Decoder(
    "Olmoe",
    rotary=False,
    tasks=(),
    attention=adding(
        grouped,
        q_norm=normed,
        k_norm=lambda d, c: d.norm(d, c, d.width(c) // d.heads(c).query * d.heads(c).kv),
    ),
    moe=qwen(counts("num_experts", "num_local_experts", default=64), 8),
).register("olmoe")
