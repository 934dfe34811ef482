"""What DeepSeek-V3 and its descendants have where other decoders have something plainer: latent
attention, routed and shared experts after dense layers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..trees import Dim, ModelConfig, Module
from .decoders import Decoder
from .latent import indexer, latent_attention, latent_sizes
from .layer_kinds import mlps
from .mixtures import DEEPSEEK, deepseek_shared, sparse


def latent(
    *, seeks: int | None = None, **usual: int | None
) -> Callable[[Decoder, ModelConfig], Module]:
    """Latent attention with these sizes by default (see ``latent_sizes``), read through an indexer
    of ``seeks`` heads if it has one."""

    def attention(d: Decoder, c: ModelConfig) -> Module:
        bias = c.flag("attention_bias", default=False)
        sizes = latent_sizes(c, heads=d.num_attention_heads, **usual)  # type: ignore[arg-type]
        block = latent_attention(d.name, d.width(c), sizes, bias=bias)
        if seeks:
            block.children["indexer"] = indexer(c, d.name, d.width(c), sizes, heads=seeks)
        return block

    return attention


def expert_count(c: ModelConfig, default: int, *, rerouted: bool = False) -> Dim:
    """``n_routed_experts``. ``rerouted``: the config class puts ``num_experts`` in its place,
    before it puts the alias ``num_local_experts`` there."""
    names = ("n_routed_experts", "num_local_experts", "num_experts")
    first = rerouted and c.file_values.get("num_local_experts") is None
    return c.count(*(("num_experts", *names[:2]) if first else names), default=default)


def routed(
    inner: int, count: int, per_token: int, *, rerouted: bool = False
) -> Callable[[Decoder, ModelConfig], Module]:
    """``count`` experts of width ``inner`` behind a corrected router, and a shared one.

    ``rerouted``: see ``expert_count``."""
    return sparse(
        "MoE",
        DEEPSEEK,
        count=lambda c: expert_count(c, count, rerouted=rerouted),
        used=per_token,
        inner=inner,
        shared=deepseek_shared,
    )


def dense_first(
    first: int, *, listed: bool = False, key: str = "first_k_dense_replace"
) -> Callable[[Decoder, ModelConfig, int], Sequence[str]]:
    """So many dense layers as ``key`` says and then sparse ones; ``listed``: the class reads
    mlp_layer_types before that. Raises ConfigError for another word in it."""

    def kinds(d: Decoder, c: ModelConfig, layers: int) -> Sequence[str]:
        dense = min(int(c.count(key, default=first)), layers)
        usual = ["dense"] * dense + ["sparse"] * (layers - dense)
        return mlps(lambda _, i: usual[i])(d, c, layers) if listed else usual

    return kinds
