"""A.X K1 (SK Telecom 2026). Source of shapes: transformers/models/axk1/modeling_axk1.py.

DeepSeek-V3's latent attention and experts, with a norm after the experts that files hold
next to the MLP.
"""

from collections.abc import Sequence

from ..core.config import ModelConfig
from ..layers.blocks import layer_types
from ..layers.decoders import LABEL_HEADS, Decoder, pre_norm
from ..layers.latent_decoders import latent, routed
from ..trees.modules import Module
from .llama import LLAMA


def kinds(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[str]:
    dense = c.count("first_k_dense_replace", default=1)
    every = c.dim("moe_layer_freq", default=1)
    return layer_types(
        c,
        layers,
        lambda i: "sparse" if i >= dense and i % every == 0 else "dense",
        key="mlp_layer_types",
    )


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block = pre_norm(d, c, kind)
    if kind == "sparse":
        block.children["post_mlp_layernorm"] = d.norm(d, c, d.width(c))
    return block


LLAMA.like(
    "AXK1", vocab_size=163840, hidden_size=7168, intermediate_size=18432, num_hidden_layers=61,
    num_attention_heads=64, mlp_bias=None, endings=LABEL_HEADS, attention=latent(),
    moe=routed(2048, 192, 8), kinds=kinds, layer=_layer, rotary=True,
).register("axk1")  # fmt: skip
