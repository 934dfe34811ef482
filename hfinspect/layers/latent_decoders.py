"""What DeepSeek-V3 and its descendants have where other decoders have something plainer: latent
attention, routed and shared experts after dense layers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees.modules import Module
from .blocks import layer_types
from .decoders import Decoder
from .experts import corrected_router, routed_and_shared, shared_width
from .latent import latent_attention, latent_sizes


def latent(
    *,
    query_rank: int | None = 1536,
    kv_rank: int = 512,
    plain: int = 128,
    rotary: int = 64,
    value: int = 128,
) -> Callable[[Decoder, ModelConfig], Module]:
    """Latent attention with these sizes by default (see ``latent_sizes``)."""

    def attention(d: Decoder, c: ModelConfig) -> Module:
        bias = c.flag("attention_bias", default=False)
        sizes = latent_sizes(
            c, heads=d.num_attention_heads, query_rank=query_rank, kv_rank=kv_rank, plain=plain,
            rotary=rotary, value=value,
        )  # fmt: skip
        return latent_attention(d.name, d.width(c), sizes, bias=bias)

    return attention


def expert_count(c: ModelConfig, default: int, *, rerouted: bool = False) -> Dim:
    """``n_routed_experts``. ``rerouted``: the config class puts ``num_experts`` in its place,
    before it puts the alias ``num_local_experts`` there."""
    names = ("n_routed_experts", "num_local_experts", "num_experts")
    first = rerouted and c.given.get("num_local_experts") is None
    return c.count(*(("num_experts", *names[:2]) if first else names), default=default)


def routed(
    inner: int, count: int, per_token: int, *, router: str = "TopkRouter", rerouted: bool = False
) -> Callable[[Decoder, ModelConfig], Module]:
    """``count`` experts of width ``inner`` behind a corrected router, and a shared one.

    ``rerouted``: see ``expert_count``."""

    def moe(d: Decoder, c: ModelConfig) -> Module:
        h, width = d.width(c), c.dim("moe_intermediate_size", default=inner)
        experts = expert_count(c, count, rerouted=rerouted)
        return routed_and_shared(
            d.name,
            h,
            width,
            count=experts,
            per_token=c.dim("num_experts_per_tok", default=per_token),
            shared=shared_width(c, width, default=1),
            gate=corrected_router(f"{d.name}{router}", h, experts),
            act=d.act(c),
        )

    return moe


def dense_first(
    first: int, *, listed: bool = False
) -> Callable[[Decoder, ModelConfig, int], Sequence[str]]:
    """``first_k_dense_replace`` dense layers and then sparse ones; ``listed``: the class reads
    mlp_layer_types before that. Raises ConfigError for another word in it."""

    def kinds(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[str]:
        dense = min(int(c.count("first_k_dense_replace", default=first)), layers)
        usual = ["dense"] * dense + ["sparse"] * (layers - dense)
        return listed_kinds(c, layers, usual.__getitem__) if listed else usual

    return kinds


def listed_kinds(c: ModelConfig, layers: int, usual: Callable[[int], str]) -> Sequence[str]:
    """mlp_layer_types, else ``usual`` of each layer's number. Raises ConfigError for a word that is
    neither ``dense`` nor ``sparse``."""
    found = layer_types(c, layers, usual, key="mlp_layer_types")
    for kind in found:
        if kind not in ("dense", "sparse"):
            raise c.error("mlp_layer_types", kind, "dense or sparse")
    return found
