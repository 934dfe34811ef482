"""MiniMax-M2 (MiniMax 2025; transformers/models/minimax_m2)."""

from ..layers import mixtures as m
from ..layers.decoders import Decoder, block_sparse

_EXPERTS = m.counts("num_local_experts", "num_experts", default=256)
Decoder(
    "MiniMaxM2",
    attention_bias=None,
    qk_norm=True,
    whole_norm=True,
    rotary=False,
    tasks=(),
    layer=block_sparse,
    moe=m.mixtral(_EXPERTS, 8, "MLP", e_score_correction_bias=m.correction),
).register("minimax_m2")
