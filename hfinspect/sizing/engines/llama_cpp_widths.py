"""What the layers of llama.cpp's graph hold for a token, read off their matrices and what they keep
(``llama_cpp_graph.py`` adds it up)."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from ...core.components import Component
from ...trees.cache_layout import KeysValues, State
from ..cache_request import CachedLayer, Indexing
from ..matrices import Matrix
from .llama_cpp_chooser import Chooser, chooser_of

#: Projections back to the residual stream, by kind and by the names of GGUF.
_BACK_KINDS: Final = frozenset({"output", "down", "lm_head", "classifier"})
_BACK_NAMES: Final = ("attn_output", "ffn_down", "ssm_out", "time_mix_output", "down_proj")
_EXPERT_BACK: Final = ("ffn_down", "down_proj", "w2", "output_linear", "fc2", "wo", "c_proj")
#: Projections up from a latent, which llama.cpp takes into queries and outputs instead.
_ABSORBED: Final = ("kv_up", "attn_kv_b", "attn_k_b", "attn_v_b")
#: Scans of Mamba read the states in place; the others gather them first.
_IN_PLACE: Final = frozenset({"in_proj", "ssm_in"})
_DELTA: Final = frozenset({"ssm_ba", "ssm_beta", "ssm_alpha", "ssm_beta_alpha"})


class LayerWidths(NamedTuple):
    """Elements of one token that are alive together in one layer.

    Fields:
        attention: queries, keys, values and what the heads give
        mlp: gate, up and their product
        experts: the same of those that serve a token, or their outputs
        served: of the experts, how many serve a token
        scan: of a state space or linear attention
        heads: of attention
        latent: elements of a latent row; 0 where there is none
        value: elements of a row of values
        chooser: what chooses the tokens or blocks that attention looks at
        states: of one sequence, float32, as often as they are held
        pairs: heads of a linear attention that looks at pairs of the tokens of a step
        head_size: of keys
        window: of its rows; None: it looks at all
        rows: whether it keeps rows
    """

    attention: int = 0
    mlp: int = 0
    experts: int = 0
    served: int = 0
    scan: int = 0
    heads: int = 0
    latent: int = 0
    value: int = 0
    chooser: Chooser | None = None
    states: int = 0
    pairs: int = 0
    head_size: int = 0
    window: int | None = None
    rows: bool = False


def layer_widths(
    block: Sequence[Matrix],
    layer: CachedLayer,
    hidden: int,
    heads: int | None,
    served: int | None,
    indexing: Indexing,
    *,
    rotated: bool,
) -> LayerWidths:
    """What the matrices of one block give out."""
    sums: dict[str, int] = defaultdict(int)
    inner: dict[str, int] = defaultdict(int)
    gated = False
    for matrix in block:
        role = role_of(matrix)
        if matrix.name.startswith("vis_"):  # of images: not in the graph of text
            continue
        if role == "expert":
            # One side of an expert's matrix is the stream, whichever way the file has it.
            side = matrix.columns if matrix.rows == hidden else matrix.rows
            if any(matrix.name.startswith(name) for name in _EXPERT_BACK):
                inner[role] = max(inner[role], side)
            else:
                sums[role] += side
        elif _goes_back(matrix, hidden):
            inner[role] = max(inner[role], matrix.columns)
        else:
            split = role == "attention" and (matrix.kind == "qkv" or "qkv" in matrix.path)
            sums[role] += matrix.rows * 4 // 3 if split else matrix.rows
            gated = gated or "gate" in matrix.path or matrix.kind in ("gate", "gate_up")
    rows = next((item for item in layer.keys_values if not item.name and item.every == 1), None)
    heads = heads or max((m.times for m in block if role_of(m) == "absorbed"), default=0)
    conv, running = _states(layer)
    return LayerWidths(
        attention=_attention(sums, inner, rows, heads) + (inner["attention"] if rotated else 0),
        mlp=sums["mlp"] + (inner["mlp"] if gated or sums["mlp"] > inner["mlp"] else 0),
        experts=_experts(sums, inner, served or 1, hidden),
        served=(served or 1) if sums["expert"] else 0,
        scan=_scan(block, sums, inner, hidden, runs=bool(conv and running))
        if conv or running
        else 0,
        heads=_heads(inner, rows, heads),
        latent=int(rows.key) + int(rows.value) if rows and rows.latent else 0,
        value=int(rows.value) if rows else 0,
        chooser=chooser_of(
            [matrix for matrix in block if role_of(matrix) == "indexer"], layer, rows, indexing
        ),
        states=_state_elements(block, conv + running),
        pairs=heads if running and not conv else 0,
        head_size=int(rows.key) // int(rows.heads or 1) if rows and not rows.latent else 0,
        window=layer.window if rows else None,
        rows=rows is not None,
    )


def role_of(matrix: Matrix) -> str:
    name = matrix.path
    if matrix.kind == "indexer" or "indexer" in name:
        return "indexer"
    if matrix.kind in _ABSORBED or any(part in name for part in _ABSORBED):
        return "absorbed"
    if matrix.component in (Component.SSM, Component.CONV):
        small = min(matrix.rows, matrix.columns) < 16 or not matrix.linear
        return "kernel" if small or name.endswith(("conv1d", "ssm_a", "ssm_d")) else "scan"
    if matrix.component is Component.MLP:
        routed = matrix.kind == "expert" or matrix.active or "_exps" in name
        return "expert" if routed else "mlp"
    return str(matrix.component)


def _goes_back(matrix: Matrix, hidden: int) -> bool:
    if matrix.kind in _BACK_KINDS or any(name in matrix.path for name in _BACK_NAMES):
        return True
    return matrix.rows == hidden != matrix.columns


def _attention(
    sums: dict[str, int], inner: dict[str, int], rows: KeysValues | None, heads: int
) -> int:
    width = sums["attention"] + inner["attention"]
    if rows is not None and rows.latent:
        row = int(rows.key) + int(rows.value)
        width = sums["attention"] + heads * (2 * row + row // 8) + row // 2
    return width


def _experts(sums: dict[str, int], inner: dict[str, int], served: int, hidden: int) -> int:
    if not sums["expert"]:
        return 0
    width = sums["expert"]
    out = inner["expert"]
    product = out if width > out else 0
    choice = 4 * sums["router"]
    # The allocator puts outputs in the hole that gate and up leave, where it is large enough.
    behind = hidden if product and hidden > width else 0
    return choice + served * max(width + product + behind, out + hidden)


def _heads(inner: dict[str, int], rows: KeysValues | None, heads: int | None) -> int:
    """Of the layer: from the width of what its heads give, where that says it."""
    if rows is not None and rows.heads and rows.value and not rows.latent:
        size = int(rows.value) // int(rows.heads)
        if size and inner["attention"] and inner["attention"] % size == 0:
            count = inner["attention"] // size
            return min(count, heads) if heads else count
    return heads or 0


def _scan(
    block: Sequence[Matrix], sums: dict[str, int], inner: dict[str, int], hidden: int, *, runs: bool
) -> int:
    """Of what runs over the tokens: Mamba's projections, what the convolution and the scan give,
    or the projections of a linear attention before and after its convolution."""
    names = {matrix.name for matrix in block}
    width = sums["scan"]
    out = max(inner["scan"], inner["attention"])
    if any("time_mix" in name for name in names):  # RWKV: mixes of two tokens, one a projection
        return 16 * hidden
    if names & {"x_proj", "ssm_x"}:
        return width + 3 * out
    if _is_mamba(block):
        return 2 * width + 2 * out
    # Projections of a linear attention count as attention in a file.
    return (2 if runs else 1) * max(width, sums["attention"]) + out


def _states(layer: CachedLayer) -> tuple[int, int]:
    """Elements of one sequence: columns of convolutions, and what runs on."""
    sizes = {"conv": 0, "recurrent": 0}
    for item in layer.cache:
        if isinstance(item, State):
            kind = "recurrent" if item.name == "recurrent" else "conv"
            sizes[kind] += math.prod(int(size) for size in item.shape)
    return sizes["conv"], sizes["recurrent"]


def _state_elements(block: Sequence[Matrix], streams: int) -> int:
    """Elements of states that the graph holds: the scan gives out all of them, and what is no
    scan of Mamba gathers them before."""
    return streams * 5 // 4 if _is_mamba(block) else streams * 15 // 8


def _is_mamba(block: Sequence[Matrix]) -> bool:
    names = {matrix.name for matrix in block}
    return bool(names & _IN_PLACE) and not names & _DELTA
