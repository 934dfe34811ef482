"""Mistral Small 4 (Mistral AI 2026). Source of shapes: transformers/models/mistral4.

Multi-head latent attention and routed experts as in DeepSeek-V3, without a correction of the
router's scores. Files hold a layer's experts stacked, as they are in memory.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, gated_mlp
from ..layers.decoders import LABEL_HEADS, Decoder
from ..layers.experts import router, shared_width
from ..layers.latent_decoders import dense_first, latent
from ..trees.modules import Module, Weight
from .llama import LLAMA


def _moe(d: Decoder, c: ModelConfig) -> Module:
    """3·E·H·I routed weights, of which k in E serve a token, and one shared expert."""
    h, act = d.width(c), d.act(c)
    inner = c.dim("moe_intermediate_size", default=2048)
    count = c.count("n_routed_experts", "num_local_experts", default=128, minimum=1)
    used = (min(int(c.count("num_experts_per_tok", default=4)), int(count)), int(count))
    shared = shared_width(c, inner, default=1)
    return Module(
        "Mistral4MoE",
        experts=Module(
            "Mistral4Experts",
            gate_up_proj=Weight(count, 2 * inner, h, active=used),
            down_proj=Weight(count, h, inner, active=used),
            act_fn=activation(act),
            kind="expert",
        ),
        gate=router("Mistral4TopkRouter", h, count),
        shared_experts=gated_mlp("Mistral4MLP", h, shared, act=act, kind="shared_expert")
        if shared
        else None,
        component=Component.MLP,
    )


LLAMA.like(
    "Mistral4", vocab_size=131072, intermediate_size=12288, num_hidden_layers=36, mlp_bias=None,
    endings=LABEL_HEADS, attention=latent(query_rank=1024, kv_rank=256, plain=64), moe=_moe,
    kinds=dense_first(0),
).register("mistral4")  # fmt: skip
