"""DeepSeekMoE-16B (Dai et al. 2024). No class in transformers. Source of shapes:
modeling_deepseek.py in deepseek-ai/deepseek-moe-16b-base; SGLang's deepseek.py reads the same
names.

Llama's block; after ``first_k_dense_replace`` dense layers the MLPs are routed experts and shared
ones. No latent attention, and no bias that balances the router.
"""

from ..core.config import ModelConfig
from ..layers.decoders import SEQUENCE_HEAD, Decoder
from ..layers.experts import router, shared_width
from ..layers.layer_kinds import mixture
from ..trees.modules import Module
from .llama import LLAMA


def _moe(d: Decoder, c: ModelConfig) -> Module:
    inner, count = c.dim("moe_intermediate_size", default=1407), c.count("n_routed_experts")
    return mixture(
        d, c, inner, count, c.dim("num_experts_per_tok"), shared_width(c, inner, default=0),
        gate=router("MoEGate", d.width(c), count),
    )  # fmt: skip


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    """Without ``n_routed_experts`` every layer is dense."""
    first = int(c.count("first_k_dense_replace", default=0))
    every = int(c.dim("moe_layer_freq", default=1))
    routed = int(c.count("n_routed_experts", default=0)) > 0
    sparse = (routed and i >= first and i % every == 0 for i in range(layers))
    return ["sparse" if kind else "dense" for kind in sparse]


_SOURCE = "modeling_deepseek.py of deepseek-ai/deepseek-moe-16b-base"
LLAMA.like(
    "Deepseek", vocab_size=102400, num_hidden_layers=30, mlp_bias=None, rotary=False,
    endings=SEQUENCE_HEAD, moe=_moe, kinds=_kinds,
).register("deepseek", source=_SOURCE)  # fmt: skip
