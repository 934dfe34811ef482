"""A.X K2 (SK Telecom 2026). Source of shapes: transformers/models/axk2/modeling_axk2.py.

Latent attention with a sparse indexer; the query's up-projection also makes the output's gate and
reads a bottleneck of double width. Norms before attention and experts carry a low-rank gate.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.decoders import LABEL_HEADS, Decoder, pre_norm
from ..layers.latent import latent_attention, latent_sizes
from ..layers.latent_decoders import routed
from ..trees.modules import Linear, Module
from .axk1 import kinds
from .deepseek_v32 import indexer
from .llama import LLAMA


def gated_norm(d: Decoder, c: ModelConfig) -> Module:
    h, rank = d.width(c), c.dim("gated_norm_rank", default=16)
    return Module(
        "AXK2GatedRMSNorm",
        norm=d.norm(d, c, h),
        W_down=Linear(h, rank, bias=False),
        W_up=Linear(rank, h, bias=False),
        component=Component.NORM,
    )


def _attention(d: Decoder, c: ModelConfig) -> Module:
    bias = c.flag("attention_bias", default=False)
    sizes = latent_sizes(c, heads=32, query_rank=384, kv_rank=128, plain=64, rotary=32, value=64)
    if sizes.query_rank is None:
        raise c.error("q_lora_rank", None, "a rank")
    block = latent_attention("AXK2", d.width(c), sizes, bias=bias)
    width = sizes.heads * (sizes.plain + sizes.rotary + sizes.value)
    block.children["q_b_proj"] = Linear(2 * sizes.query_rank, width, bias=False, kind="query_up")
    block.children["indexer"] = indexer(c, d.name, d.width(c), sizes, heads=16)
    return block


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block = pre_norm(d, c, kind)
    block.children["input_layernorm"] = gated_norm(d, c)
    if kind == "sparse":
        block.children["post_attention_layernorm"] = gated_norm(d, c)
    return block


LLAMA.like(
    "AXK2", vocab_size=163840, hidden_size=2048, intermediate_size=5120, num_hidden_layers=48,
    mlp_bias=None, endings=LABEL_HEADS, attention=_attention,
    moe=routed(512, 128, 8), kinds=kinds, layer=_layer,
).register("axk2")  # fmt: skip
