"""A.X K1 (SK Telecom 2026): DeepSeek-V3's latent attention and experts, with a norm after the
experts that files hold next to the MLP (transformers/models/axk1)."""

from ..core.config import ModelConfig
from ..layers.decoders import LABEL_HEADS, Decoder, adding, normed, of_kind, pre_norm
from ..layers.latent_decoders import latent, routed
from ..layers.layer_kinds import words


def _usual(c: ModelConfig, i: int) -> str:
    dense = c.count("first_k_dense_replace", default=1)
    step = c.dim("moe_layer_freq", default=1)
    return "dense" if i < dense or i % step else "sparse"


kinds = words(_usual, key="mlp_layer_types")
Decoder(
    "AXK1",
    tasks=LABEL_HEADS,
    attention=latent(),
    moe=routed(2048, 192, 8),
    kinds=kinds,
    layer=adding(pre_norm, post_mlp_layernorm=of_kind("sparse", normed)),
).register("axk1")
