"""Mistral Small 4 (Mistral AI 2026; transformers/models/mistral4)."""

from ..layers import mixtures as m
from ..layers.decoders import LABEL_HEADS, Decoder
from ..layers.latent_decoders import dense_first, latent

Decoder(
    "Mistral4",
    tasks=LABEL_HEADS,
    attention=latent(query_rank=1024, kv_rank=256, plain=64),
    kinds=dense_first(0),
    moe=m.sparse(
        "MoE",
        {
            "experts": m.stacked(act=True),
            "gate": m.scores("TopkRouter"),
            "shared_experts": m.always,
        },
        count=m.counts("n_routed_experts", "num_local_experts", default=128, minimum=1),
        used=m.counts("num_experts_per_tok", default=4),
        inner=2048,
        shared=m.deepseek_shared,
    ),
).register("mistral4")
