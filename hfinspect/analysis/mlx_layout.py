"""Tensors as MLX keeps them: experts of a layer in one tensor, parts under other names, axes of
convolutions in another order. Sound, but no library but MLX's takes them.

Names of both sides are brought to a common one, and what has a common name has to have as many
parameters. Source: ``sanitize`` in mlx_lm/models (0.32) and mlx_vlm/models (0.7).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from ..core.checkpoint import Shard

if TYPE_CHECKING:
    from .quantization.decoding import Decoding

#: The rule of the note about it.
MLX_LAYOUT: Final = "mlx-layout"

#: Segments that only one of both sides has.
_DROPPED: Final = frozenset(
    ("model", "language_model", "experts", "switch_mlp", "switch_glu", "block_sparse_moe", "mlp",
     "feed_forward")
)  # fmt: skip
#: Segments of one meaning.
_SAME: Final = {
    "visual": "vision",
    "vision_tower": "vision",
    "vision_model": "vision",
    "w1": "gate_up_proj",
    "w3": "gate_up_proj",
    "gate_proj": "gate_up_proj",
    "up_proj": "gate_up_proj",
    "input_linear": "gate_up_proj",
    "w2": "down_proj",
    "output_linear": "down_proj",
    "embed_q": "kv_b_proj",
    "unembed_out": "kv_b_proj",
}
#: Lists whose members MLX keeps in one tensor.
_STACKED: Final = frozenset(("experts",))
#: How a parameter of stacked experts is spelled without a module of its own.
_BIAS = re.compile(r"_bias$")


def is_mlx(
    shards: Iterable[Shard], unexpected: Iterable[str], decoding: Decoding | None = None
) -> bool:
    """Whether MLX wrote a checkpoint: its files say so, or its packing, or stacked experts in its
    words."""
    summary = None if decoding is None else decoding.summary
    if summary is not None and summary.method == "mlx":
        return True
    if any(shard.metadata.get("format") == "mlx" for shard in shards):
        return True
    return any(".switch_mlp." in name or ".switch_glu." in name for name in unexpected)


def common_name(name: str) -> str:
    """What a tensor is called on both sides, and all tensors that are one on one of them."""
    segments: list[str] = []
    stacked = False
    for segment in name.split("."):
        if stacked and segment.isdecimal():
            continue
        stacked = segment in _STACKED
        if segment not in _DROPPED:
            segments.append(_SAME.get(segment, segment))
    if len(segments) > 1 and segments[-1] == "weight":
        segments.pop()
    elif segments and _BIAS.search(segments[-1]) and segments[-1] != "dt_bias":
        segments[-1:] = [_SAME.get(segments[-1][:-5], segments[-1][:-5]), "bias"]
    return ".".join(segments)


def alike(
    here: Mapping[str, int | None], there: Mapping[str, int | None]
) -> tuple[set[str], set[str]]:
    """The names of either side whose parameters are all on the other one under a common name; where
    a number of parameters is unknown, names decide."""
    mine = _by_common_name(here)
    theirs = _by_common_name(there)
    matched = [
        (mine[name], theirs[name])
        for name in mine.keys() & theirs.keys()
        if _sum(here, mine[name]) == _sum(there, theirs[name])
        or None in (_sum(here, mine[name]), _sum(there, theirs[name]))
    ]
    return (
        {name for names, _ in matched for name in names},
        {name for _, names in matched for name in names},
    )


def _by_common_name(names: Iterable[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(common_name(name), []).append(name)
    return groups


def _sum(sizes: Mapping[str, int | None], names: Iterable[str]) -> int | None:
    total = 0
    for name in names:
        size = sizes[name]
        if size is None:
            return None
        total += size
    return total


def is_reordered(near: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    """Whether two shapes differ in the order of their axes alone: MLX's convolutions have their
    channels last."""
    return len(near) > 2 and near != expected and sorted(near) == sorted(expected)
