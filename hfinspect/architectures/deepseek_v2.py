"""DeepSeek-V2 (DeepSeek-AI 2024; transformers/models/deepseek_v2). As V3 (deepseek_v3.py), but the
router has no correction; V2-Lite projects its queries directly (``q_lora_rank`` null)."""

from ..layers import mixtures as m
from ..layers.decoders import SEQUENCE_HEAD, Decoder
from ..layers.latent_decoders import dense_first, latent

_EXPERTS = m.counts("n_routed_experts", "num_experts", default=64)
Decoder(
    "DeepseekV2",
    rotary=False,
    tasks=SEQUENCE_HEAD,
    attention=latent(),
    kinds=dense_first(0),
    moe=m.sparse(
        "Moe",
        {"experts": m.each, "gate": m.scores("TopkRouter"), "shared_experts": m.biased},
        count=_EXPERTS,
        used=lambda c: c.dim("num_experts_per_tok", default=_EXPERTS(c)),
        inner=1407,
        empty=True,
        shared=lambda c, inner: m.deepseek_shared(c, inner, 2),
    ),
).register("deepseek_v2")
