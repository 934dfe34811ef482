"""MiniMax-M2 (MiniMax 2025). Source of shapes: transformers/models/minimax_m2.

Norms over the whole of q and of k; Mixtral's expert layout with a correction bias.
"""

from ..layers import mixtures as m
from ..layers.decoders import block_sparse
from .llama import LLAMA

_EXPERTS = m.counts("num_local_experts", "num_experts", default=256)
LLAMA.like(
    "MiniMaxM2", vocab_size=200064, hidden_size=3072, intermediate_size=1536, num_hidden_layers=62,
    num_attention_heads=48, num_key_value_heads=8, head_dim=128, attention_bias=None, mlp_bias=None,
    qk_norm=True, whole_norm=True, rotary=False, endings=(), layer=block_sparse,
    moe=m.mixtral(_EXPERTS, 8, "MLP", e_score_correction_bias=m.correction),
).register("minimax_m2")  # fmt: skip
