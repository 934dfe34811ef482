"""Decoders whose layers are not alike: the words that say what each layer is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..trees import Dim, ModelConfig
from .decoders import Decoder

#: What each of so many layers is: a word, or whatever its family makes of it.
Kinds = Callable[[Any, ModelConfig, int], Sequence[Any]]


def words(
    usual: Callable[[ModelConfig, int], str],
    *allowed: str,
    key: str = "layer_types",
    older: str = "",
    longer: bool = False,
) -> Kinds:
    """A word for each layer under ``key`` or ``older``, else ``usual`` of its number. Raises
    ConfigError for one that is not among the ``allowed``, where there are any. ``longer``: the list
    may go on."""

    def kinds(_d: object, c: ModelConfig, layers: int) -> Sequence[str]:
        default = [usual(c, i) for i in range(layers)]
        count = None if longer else layers
        chosen = c.strings(key, *older.split(), default=default, count=count, least=layers)[:layers]
        for word in chosen:
            if allowed and word not in allowed:
                raise c.error(key, word, " or ".join(allowed))
        return chosen

    return kinds


def every_nth(key: str, default: int, nth: str) -> Callable[[ModelConfig, int], str]:
    """The usual word of a layer: ``nth`` for the last of each group as long as ``key`` says."""
    return lambda c, i: "linear_attention" if (i + 1) % c.dim(key, default=default) else nth


def mlps(
    usual: Callable[[ModelConfig, int], str] = lambda _c, i: "sparse" if i else "dense",
) -> Kinds:
    """mlp_layer_types; by default all layers but the first are sparse."""
    return words(usual, "dense", "sparse", key="mlp_layer_types")


def stepped(count: Callable[[ModelConfig], Dim], *dense: int) -> Kinds:
    """``sparse`` for every decoder_sparse_step-th layer but mlp_only_layers (``dense`` by default),
    and for none where there are no experts at all."""

    def kinds(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[str]:
        experts = count(c)
        step = int(c.dim("decoder_sparse_step", default=1))
        without = set(c.dims("mlp_only_layers", default=dense, minimum=0))
        routed = (experts > 0 and i not in without and (i + 1) % step == 0 for i in range(layers))
        return ["sparse" if some else "dense" for some in routed]

    return kinds


def side_by_side(*lists: Kinds) -> Kinds:
    """What each of several lists says of a layer."""

    def kinds(d: Decoder, c: ModelConfig, layers: int) -> Sequence[Any]:
        return list(zip(*(kinds_of(d, c, layers) for kinds_of in lists), strict=True))

    return kinds
