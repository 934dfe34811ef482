"""What llama.cpp's graph holds while an indexer chooses what attention looks at.

Five kinds, which differ in what the layer keeps and in the indexer's matrices. T are the tokens of
a step, C the cells of one stream:

- ``tokens`` of latents (DeepSeek-V3.2, src/models/deepseek32.cpp): scores of every pair
- ``blocks`` for each key head (MiniMax-M3, minimax-m3.cpp): for the tokens of one stream a mask of
  every pair and key head, twice, next to the mask in float32 and that of positions; a step of one
  token a stream gathers rows instead. Without flash attention, and where sequences share cells, the
  graph attends to everything and chooses nothing.
- ``scored`` blocks (Qwen4-Exp, qwen4exp.cpp): a score for each block, head and token, twice; means
  of keys; zeros for the chosen tokens of every such layer; then a score for each cell, three times
- ``pooled`` keys (GLM 5 next, glm5-next.cpp): what is chosen, five times, next to two masks; and
  keys with their gates, of all pools at once
- ``grouped`` rows (DeepSeek-V4, deepseek4.cpp): masks over the groups through all layers, three
  with an indexer; scores over window and groups together; the indexer's queries twice

Source: the files named, of llama.cpp 0.5.0 (in llama_cpp_python 0.3.36), read on 2026-11-28 with
the allocator's own list of what is alive.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from ...trees.cache_layout import KeysValues
from ..cache_request import CachedLayer, Indexing
from ..matrices import Matrix
from .interface import padded
from .llama_cpp_step import CELLS, Step

_FLOAT: Final = 4


class Chooser(NamedTuple):
    """The indexer of one layer, or the groups of tokens that it looks at.

    Fields:
        kind: which graph
        queries: elements of all its projections for a token
        heads: of the indexer
        size: elements of one of its keys
        every: tokens of a block or group
        value: elements of a row of values of the layer
        row: elements of a row of keys of the layer
        top_k: tokens that are chosen
        layers: of the graph that choose so
    """

    kind: Literal["tokens", "blocks", "scored", "pooled", "grouped"]
    queries: int
    heads: int
    size: int
    every: int
    value: int
    row: int
    top_k: int
    layers: int = 1

    def moments(self, step: Step, scores: int) -> Iterator[tuple[str, int, int]]:
        """Name, bytes, and elements of a token, next to what attention has; ``scores`` are the
        bytes of its scores without flash attention."""
        cells = step.cells(None)
        pairs = cells * step.tokens
        if self.kind == "tokens":
            yield "indexer's choice", scores + 20 * pairs, 0
            yield "indexer", (13 if step.flash else 19) * pairs, self.queries * 21 // 10
        elif self.kind == "blocks" and step.flash and step.streams == step.n_seq_max:
            choice = 2 * _FLOAT * (pairs + self.heads * pairs // step.streams)
            yield "choice of blocks", choice, 0
            # As at start, when no position is taken.
            gathered = (_FLOAT + 2 + 2) * self.value * CELLS * step.streams
            yield "chosen rows", gathered, self.queries
        elif self.kind == "scored":
            yield from self._scored(step, scores)
        elif self.kind == "pooled":
            yield from self._pooled(step, scores)
        elif self.kind == "grouped":
            rows = step.n_seq_max * (cells // self.every + step.cells(0) + 2 * CELLS)
            # Both are put together as they are kept.
            yield "indexer", scores + math.ceil(step.element * self.row * rows), 2 * self.queries

    def _scored(self, step: Step, scores: int) -> Iterator[tuple[str, int, int]]:
        cells = step.cells(None)
        tokens = step.tokens
        blocks = -(-cells // self.every)
        chosen = _FLOAT * tokens * min(cells, self.top_k + self.every - 1) * self.layers
        keys = 2 * _FLOAT * self.size * blocks * step.streams
        each = _FLOAT * self.heads * blocks * tokens
        queries = 2 * _FLOAT * self.queries * tokens
        # Scores take the place of the queries where they are no larger.
        both = 2 * each if each > queries else each
        fixed = scores + chosen + _FLOAT * blocks * tokens + both + keys
        yield "scores of blocks", fixed, 2 * self.queries
        yield "scores of tokens", scores + chosen + 3 * _FLOAT * cells * tokens, self.queries

    def _pooled(self, step: Step, scores: int) -> Iterator[tuple[str, int, int]]:
        cells = step.cells(None)
        tokens = step.tokens
        every = step.n_seq_max * cells + CELLS
        chosen = (min(every, self.top_k) + self.every - 1) * tokens * _FLOAT
        mask = 2 * -(-every // self.every) * tokens
        both = (4 if step.flash else 8) * cells * tokens
        yield "choice of pools", scores + mask + both + 5 * chosen, 0
        yield "pooled keys", mask + chosen + 4 * _FLOAT * self.size * every, 0
        yield "indexer", mask + chosen, 2 * self.queries

    def group_cells(self, step: Step) -> int:
        """Cells of groups that attention looks at next to the window."""
        if self.kind != "grouped":
            return 0
        return padded(-(-step.cells(None) // self.every), CELLS)


def group_masks(choosers: Iterable[Chooser | None], step: Step) -> int:
    """Bytes of the masks over groups, which are inputs of the graph."""
    groups = {
        (one.every, bool(one.queries)): one.group_cells(step) for one in choosers if one is not None
    }
    total = 0
    for (_, indexed), cells in groups.items():
        item = 2 if step.flash else _FLOAT
        total += cells * step.tokens * (2 * item + 2 if indexed else item)
    return total


def chooser_of(
    indexer: Sequence[Matrix], layer: CachedLayer, rows: KeysValues | None, keys: Indexing
) -> Chooser | None:
    """Of the matrices of a layer's indexer, what the layer keeps, and what keys say."""
    if rows is None:
        return None
    row = int(rows.key)
    value = int(rows.value)
    groups = [item for item in layer.keys_values if item.every > 1 and item.of == "groups"]
    sides = sorted((matrix.rows for matrix in indexer), reverse=True)
    queries = sum(sides)
    top_k = keys.top_k or 2**31
    if groups:
        return Chooser("grouped", queries, 0, 0, int(groups[0].every), value, row, top_k)
    chosen_item = next((item for item in layer.keys_values if item.name == "indexer"), None)
    if chosen_item is None or not sides:
        return None
    size = sides[1] if len(sides) > 1 else int(chosen_item.key)
    heads = -(-sides[0] // size)
    kind: Literal["tokens", "blocks", "scored", "pooled"] = "tokens"
    if not rows.latent:
        kind = "blocks" if heads == rows.heads else "scored"
    elif any("compress" in matrix.path for matrix in indexer):
        kind = "pooled"
    return Chooser(kind, queries, heads, size, max(keys.ratio, 1), value, row, top_k)


def streams_of(block: Iterable[Matrix], hidden: int) -> int:
    """Copies of the stream that a block's hyper-connections mix; 1 without them."""
    mixes = (
        matrix.columns // hidden
        for matrix in block
        if "hc_" in matrix.path and hidden and matrix.columns % hidden == 0
    )
    return max(mixes, default=1)
