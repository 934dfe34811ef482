"""DeepSeekMoE-16B (Dai et al. 2024). No class in transformers. Source of shapes:
modeling_deepseek.py in deepseek-ai/deepseek-moe-16b-base; SGLang's deepseek.py.
"""

from ..core.config import ModelConfig
from ..layers.decoders import SEQUENCE_HEAD, Decoder
from ..layers.experts import router, shared_width
from ..layers.layer_kinds import mixture
from ..trees.modules import Module


def moe(d: Decoder, c: ModelConfig) -> Module:
    """Experts behind a router of the greedy kind."""
    inner, count = c.dim("moe_intermediate_size", default=1407), c.count("n_routed_experts")
    return mixture(
        d, c, inner, count, c.dim("num_experts_per_tok"), shared_width(c, inner, default=0),
        gate=router("MoEGate", d.width(c), count),
    )  # fmt: skip


def kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    """Without ``n_routed_experts`` every layer is dense."""
    first = int(c.count("first_k_dense_replace", default=0))
    every = int(c.dim("moe_layer_freq", default=1))
    routed = int(c.count("n_routed_experts", default=0)) > 0
    sparse = (routed and i >= first and i % every == 0 for i in range(layers))
    return ["sparse" if kind else "dense" for kind in sparse]


_SOURCE = "modeling_deepseek.py of deepseek-ai/deepseek-moe-16b-base"
DEEPSEEK = Decoder(
    "Deepseek", vocab_size=102400, num_hidden_layers=30, rotary=False, endings=SEQUENCE_HEAD,
    moe=moe, kinds=kinds,
).register("deepseek", source=_SOURCE)  # fmt: skip
