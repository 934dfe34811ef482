"""OLMoE (Muennighoff et al. 2024). Source of shapes: transformers/models/olmoe.

Experts in every layer, and norms over the whole of q and of k before they are cut into heads.
"""

from ..core.config import ModelConfig
from ..layers.decoders import Decoder, grouped
from ..layers.experts import sparse_block
from ..trees.modules import Module
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    """Norms over the whole of q and of k."""
    block, h, heads = grouped(d, c), d.width(c), d.heads(c)
    block.children["q_norm"] = d.norm(d, c, h)
    block.children["k_norm"] = d.norm(d, c, h // heads.query * heads.kv)
    return block


def _moe(d: Decoder, c: ModelConfig) -> Module:
    return sparse_block(
        "Olmoe",
        d.width(c),
        d.inner(c),
        count=c.count("num_experts", "num_local_experts", default=64),
        per_token=c.dim("num_experts_per_tok", default=8),
        shared=None,
        act=d.act(c),
    )


LLAMA.like(
    "Olmoe", vocab_size=50304, hidden_size=2048, intermediate_size=2048, num_hidden_layers=16,
    num_attention_heads=16, rms_norm_eps=1e-05, mlp_bias=None, rotary=False, endings=(),
    attention=_attention, moe=_moe,
).register("olmoe")  # fmt: skip
