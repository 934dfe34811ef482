"""OLMoE (Muennighoff et al. 2024; transformers/models/olmoe): experts in every layer."""

from ..layers.decoders import Decoder, adding, grouped, normed
from ..layers.mixtures import counts, qwen

Decoder(
    "Olmoe",
    vocab_size=50304,
    hidden_size=2048,
    intermediate_size=2048,
    num_hidden_layers=16,
    num_attention_heads=16,
    rms_norm_eps=1e-05,
    rotary=False,
    endings=(),
    attention=adding(
        grouped,
        q_norm=normed,
        k_norm=lambda d, c: d.norm(d, c, d.width(c) // d.heads(c).query * d.heads(c).kv),
    ),
    moe=qwen(counts("num_experts", "num_local_experts", default=64), 8),
).register("olmoe")
