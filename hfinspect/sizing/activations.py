"""Activations that wait for the backward pass.

Two kinds of answer, never mixed. ``korthikanti`` is equation 1 of Korthikanti et al. (arXiv
2205.05198): a GPT layer with 16-bit activations, dropout and a feed-forward four times as wide; a
named estimate for any other model. ``framework_layer`` is what transformers 5.23 really keeps with
eager attention and 16-bit weights, to the byte, for the model types whose rule is known: recorded
with saved_tensors_hooks, unique storages, parameters left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..core.records import dataclass
from ..trees.modules import Module, Parameter
from ..trees.prediction import Prediction
from .kv_cache import decoder_blocks

#: Model types of the Llama form: RMS norms, gated feed-forward with SiLU, rotary positions.
_GATED: Final = ("llama", "mistral", "qwen2", "qwen3")
#: Rates of dropout, each under the key of one of these model types.
_DROPOUTS: Final = ("attention_dropout", "hidden_dropout")


def korthikanti(tokens: int, batch: int, width: int, heads: int, *, selective: bool = False) -> int:
    """Bytes of one GPT layer: s·b·h·(34 + 5·a·s/h); selective recomputation leaves 34·s·b·h."""
    linear = 34 * tokens * batch * width
    return linear if selective else linear + 5 * heads * tokens * tokens * batch


@dataclass(frozen=True)
class Kept:
    """Bytes that transformers keeps for one layer, for its input, and outside the layers."""

    layer: int
    layer_input: int
    outside: int
    layers: int
    formula: str


@dataclass(frozen=True)
class _Sizes:
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    inner: int
    layers: int


def framework_kept(
    prediction: Prediction, config: Mapping[str, Any], tokens: int, batch: int
) -> Kept | str:
    """What transformers keeps in 16 bits with eager attention, or why no rule gives it."""
    kind = prediction.model_type or "unknown"
    if kind not in (*_GATED, "bloom") or not prediction.architecture.endswith("ForCausalLM"):
        return (
            f"what transformers keeps for {prediction.architecture} has no recorded rule "
            f"(known: ForCausalLM of {', '.join(_GATED)}, bloom)"
        )
    if any(config.get(key) for key in _DROPOUTS):
        return "it is trained with dropout, whose masks no recorded rule counts"
    act = config.get("hidden_act")
    if kind in _GATED and act not in (None, "silu"):
        return f"activation {act} has no recorded rule"
    sizes = _sizes(prediction)
    if sizes is None:
        return "its number of attention heads is not known"
    return _bloom(sizes, tokens, batch) if kind == "bloom" else _gated(sizes, tokens, batch, kind)


def _gated(of: _Sizes, s: int, b: int, kind: str) -> Kept:
    """A norm keeps its input in float32, its result in 16 bits and one float32 a token; the
    projections share that result. Attention keeps queries, keys and values for each query head,
    its output, and softmax in float32 and 16 bits; the feed-forward four arrays of its inner width.
    Qwen 3 norms each head of queries and keys too."""
    queries, keys = of.heads * of.head_dim, of.kv_heads * of.head_dim
    each = 16 * of.width + 8 + 8 * queries + 8 * of.inner
    formula = f"16 × {of.width:,} + 8 + 8 × {queries:,} + 8 × {of.inner:,}"
    if kind == "qwen3":
        each += 6 * (queries + keys) + 4 * (of.heads + of.kv_heads)
        formula += f" + 6 × {queries + keys:,} + 4 × {of.heads + of.kv_heads}"
    layer = s * b * (each + 6 * of.heads * s)
    # The last norm, cosines and sines (one set for all sequences), the token ids.
    outside = s * b * (8 * of.width + 4 + 8) + s * 4 * of.head_dim
    return Kept(
        layer, 2 * s * b * of.width, outside, of.layers,
        f"{s:,} × {b} × ({formula} + 6 × {of.heads} × {s:,})",
    )  # fmt: skip


def _bloom(of: _Sizes, s: int, b: int) -> Kept:
    """A norm keeps input, result and two float32 a token; attention its fused projection, its
    output and softmax twice; the feed-forward input and output of its activation."""
    layer = s * b * (32 * of.width + 16 + 6 * of.heads * s)
    outside = s * b * (6 * of.width + 16 + 8)
    return Kept(
        layer, 2 * s * b * of.width, outside, of.layers,
        f"{s:,} × {b} × (32 × {of.width:,} + 16 + 6 × {of.heads} × {s:,})",
    )  # fmt: skip


def _sizes(prediction: Prediction) -> _Sizes | None:
    """Sizes as the tree has them."""
    blocks, heads = decoder_blocks(prediction.root), attention_heads(prediction)
    if heads is None or not blocks:
        return None
    rows = _rows(blocks[0])
    width, output = rows["output"]
    head_dim = output // heads
    kv_heads = rows["key"][0] // head_dim if "key" in rows else heads
    return _Sizes(width, heads, kv_heads, head_dim, rows["up"][0], len(blocks))


def attention_heads(prediction: Prediction) -> int | None:
    """Attention heads, as the class read them; None where it did not."""
    _, found = prediction.read.get("num_attention_heads", ("", 0))
    return int(found) if isinstance(found, int) and found > 0 else None


def _rows(module: Module) -> dict[str, tuple[int, int]]:
    """(outputs, inputs) of a block's projections by kind."""
    found: dict[str, tuple[int, int]] = {}
    for child in module.children.values():
        if not isinstance(child, Module):
            continue
        weight = child.children.get("weight")
        if child.kind and isinstance(weight, Parameter) and len(weight.shape) == 2:
            found[child.kind] = (weight.shape[0], weight.shape[1])
        else:
            found |= _rows(child)
    return found
