"""Mixtral (Jiang et al. 2024; transformers/models/mixtral). A router and n experts, of which k
serve a token; fused in memory, while files hold w1 (gate), w3 (up) and w2 (down) of each."""

from ..layers import mixtures as m
from ..layers.decoders import Decoder, block_sparse, grouped, pre_norm
from ..layers.windows import windows

Decoder(
    "Mixtral",
    attention_bias=None,
    windows=lambda c: windows(c, None),
    rotary=False,
    layer=lambda d, c, kind: (pre_norm if m.has_names_of_5(c) else block_sparse)(d, c, kind),
    attention=lambda d, c: grouped(d, c.with_defaults(num_key_value_heads=8)),
    moe=m.mixtral(m.counts("num_local_experts", "num_experts", default=8), 2),
).register("mixtral")
