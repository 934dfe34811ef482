"""dots.llm1 (rednote 2025). Source of shapes: transformers/models/dots1/modeling_dots1.py.

DeepSeek-V3's experts around grouped attention with norms of queries and keys. The numbers of
experts have no default.
"""

from ..core.config import ModelConfig
from ..layers.decoders import Decoder
from ..layers.latent_decoders import dense_first
from ..layers.layer_kinds import mixture
from ..layers.windows import windows
from ..trees.modules import Module
from .llama import LLAMA


def _moe(d: Decoder, c: ModelConfig) -> Module:
    inner = c.dim("moe_intermediate_size", default=1408)
    count = c.count("n_routed_experts", "num_local_experts", minimum=1)
    shared = inner * c.count("n_shared_experts")
    return mixture(d, c, inner, count, c.count("num_experts_per_tok"), shared)


LLAMA.like(
    "Dots1", vocab_size=152064, hidden_size=4608, intermediate_size=10944, num_hidden_layers=62,
    num_key_value_heads=32, mlp_bias=None, qk_norm=True, endings=(), moe=_moe, kinds=dense_first(0),
    windows=lambda c: windows(
        c, 4096, lambda i, _: i < int(c.count("max_window_layers", default=62))
    ),
).register("dots1")  # fmt: skip
