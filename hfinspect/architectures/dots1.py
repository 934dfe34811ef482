"""dots.llm1 (rednote 2025; transformers/models/dots1). DeepSeek-V3's experts around grouped
attention with norms of queries and keys. The numbers of experts have no default."""

from ..layers import mixtures as m
from ..layers.decoders import Decoder
from ..layers.latent_decoders import dense_first
from ..layers.windows import windows

Decoder(
    "Dots1",
    qk_norm=True,
    tasks=(),
    kinds=dense_first(0),
    moe=m.sparse(
        "MoE",
        m.DEEPSEEK,
        used=lambda c: c.count("num_experts_per_tok"),
        count=m.counts("n_routed_experts", "num_local_experts", minimum=1),
        inner=1408,
        shared=lambda c, inner: inner * c.count("n_shared_experts"),
    ),
    windows=lambda c: windows(
        c, 4096, lambda i, _: i < int(c.count("max_window_layers", default=62))
    ),
).register("dots1")
