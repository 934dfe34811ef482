"""DeepSeekMoE-16B (Dai et al. 2024); SGLang's deepseek.py reads the same names. Its experts stand
behind a router of the greedy kind."""

from ..core.config import ModelConfig
from ..layers import mixtures as m
from ..layers.decoders import SEQUENCE_HEAD, Decoder
from ..layers.experts import router

moe = m.sparse(
    "MoE",
    {**m.DEEPSEEK, "gate": lambda x: router("MoEGate", x.width, x.count)},
    count=m.counts("n_routed_experts"),
    used=lambda c: c.dim("num_experts_per_tok"),
    inner=1407,
    shared=lambda c, inner: m.deepseek_shared(c, inner, 0),
)


def kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    """Without ``n_routed_experts`` every layer is dense."""
    first = c.count("first_k_dense_replace", default=0)
    every = c.dim("moe_layer_freq", default=1)
    routed = c.count("n_routed_experts", default=0) > 0
    sparse = (routed and i >= first and i % every == 0 for i in range(layers))
    return ["sparse" if kind else "dense" for kind in sparse]


DEEPSEEK = Decoder("Deepseek", rotary=False, tasks=SEQUENCE_HEAD, moe=moe, kinds=kinds).register(
    "deepseek", source="modeling_deepseek.py of deepseek-ai/deepseek-moe-16b-base"
)
