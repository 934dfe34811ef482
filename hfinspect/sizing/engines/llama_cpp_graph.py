"""llama.cpp's compute buffer: the limit of what the graph of one step holds at a time.

llama.cpp builds the graph of its longest step, one ubatch with the cache full, and reserves what
the tensors take that are alive together. Everything is in float32 but the mask of flash attention.
The buffer is largest at one of these moments; this file says what is alive at each:

- attention of a layer: inputs, masks of this and all later layers, the residual stream twice and a
  norm, queries, keys, values and the heads' outputs; without flash attention also the scores, heads
  x tokens x cells, and with latents a copy of all values
- MLP of a layer: inputs, masks of later layers, the stream, gate and up and their product
- experts: the same of all experts that serve a token, then their outputs: these find room where
  gate and up were, or lie behind all three
- state space or linear attention: its projections, what the convolution gives, the scan's output,
  and the states of all sequences
- logits: one row of the vocabulary for each token that may be an output, behind the hole of the
  mask, or of what all experts gave

Source: src/llama-graph.cpp, src/llama-context.cpp (``sched_reserve``, ``graph_reserve``),
src/models/*.cpp and ggml/src/ggml-alloc.c of llama.cpp 0.5.0 (in llama_cpp_python 0.3.36), read in
November 2026 with the allocator's own list of what is alive at its largest moment. Compared with
what it reserved in fixtures/oracle/llama_cpp.json and llama_cpp_full_size.json.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ...core.components import Component
from ...core.records import dataclass
from ...trees.modules import Layers, Module, Parameter, each_module
from ..cache_request import ALL_TOKENS, CachedLayer, Indexing
from ..matrices import Matrix, matrices
from .llama_cpp_chooser import group_masks, streams_of
from .llama_cpp_step import Step
from .llama_cpp_widths import LayerWidths, layer_widths, role_of

_FLOAT: Final = 4
#: Positions, rows of the cache to write, ids of outputs: bytes a token, with room for each.
_IDS: Final = 64
#: Where a mask was is a hole in which the allocator does not always find room for what comes after:
#: it costs its own size, at most such a part of that.
_LOGITS_HOLE: Final = (2, 5)
_LAYER_HOLE: Final = (1, 7)
#: Tensors begin at multiples of 32 bytes, and holes between them stay: one part of so many.
_ROOM: Final = 128
#: Architectures that never have flash attention, and one that masks its logits in a second copy.
WITHOUT_FLASH: Final = frozenset({"grok"})
#: Architectures whose scores get a bias by distance, for which there is no flash attention.
BIASED: Final = frozenset({"t5", "t5encoder", "mt5", "umt5"})
#: Encoders: their attention reads no cache, though some have one.
ENCODERS: Final = frozenset({"t5encoder", "llama-embed"})
#: Architectures that may have experts in a file, of which their graph makes no use.
_WITHOUT_EXPERTS: Final = frozenset({"refact"})
#: Architectures that rotate a part of each head: queries are there once more.
_PARTLY_ROTATED: Final = frozenset({"minimax-m3", "minimax_m3_vl", "minimax_m3_vl_text"})
_LOGITS_TWICE: Final = frozenset({"chameleon"})


class Moment(NamedTuple):
    """The largest moment: what it is, its bytes, and those of logits among them."""

    name: str
    nbytes: int
    logits: int
    formula: str


@dataclass(frozen=True)
class Graph:
    """What the limit is made of: ``hidden`` elements of the stream (``streams`` of them side by
    side), ``vocabulary``, ``by_layer`` elements of embeddings that each layer adds, the distinct
    layers, each with the windows of those after it, and how many layers get features of pictures
    next to those of the input (``n_deepstack_layers``). ``biased``: scores get a bias by distance,
    which is held twice next to them, and the bucket of each pair. ``streams``: copies of the stream
    that hyper-connections mix. ``cached``: it reads what was kept before.
    """

    hidden: int
    vocabulary: int
    by_layer: int
    logits_copies: int
    layers: tuple[tuple[LayerWidths, frozenset[int | None], frozenset[int | None]], ...]
    deepstack: int = 0
    biased: bool = False
    streams: int = 1
    cached: bool = True

    def largest(self, step: Step) -> Moment:
        """The moment with the most bytes."""
        step = step if self.cached else step._replace(cached=False, quantized=False)
        widest = max(self._moments(step), key=lambda moment: moment.nbytes)
        room = widest.nbytes // _ROOM
        return widest._replace(nbytes=widest.nbytes + room, formula=f"{widest.formula} + {room:,}")

    def _moments(self, step: Step) -> Iterator[Moment]:
        tokens = step.tokens
        row = self.hidden * _FLOAT
        logits = step.outputs * self.vocabulary * _FLOAT * self.logits_copies
        windows = self.layers[0][1] if self.layers else frozenset()
        masks = sum(_mask(window, step) for window in windows)
        hole = min(masks, logits * _LOGITS_HOLE[0] // _LOGITS_HOLE[1])
        # What experts gave lies there, or behind where it is larger.
        expert_bytes = self._given(step)
        behind = expert_bytes + (masks if masks < expert_bytes else 0)
        ids = tokens * _IDS
        rest = max(tokens * row * 39 // 8 + hole, 4 * tokens * row + behind)
        yield Moment(
            "logits",
            ids + logits + rest,
            logits,
            f"{step.outputs:,} × {self.vocabulary:,} × 4 + {rest:,} + {ids:,}",
        )
        if self.by_layer:
            yield self._moment(
                "embeddings of each layer", step, ids + masks, 8 * self.hidden + 4 * self.by_layer
            )
        for layer, layer_windows, later_windows in self.layers:
            yield from self._of_layer(layer, layer_windows, later_windows, step)

    def _of_layer(
        self,
        layer: LayerWidths,
        windows: frozenset[int | None],
        later_windows: frozenset[int | None],
        step: Step,
    ) -> Iterator[Moment]:
        tokens = step.tokens
        hidden = self.hidden
        ids = self._inputs(step)
        every = ids + sum(_mask(window, step) for window in self.layers[0][1])
        before = ids + sum(_mask(window, step) for window in windows)
        after = ids + sum(_mask(window, step) for window in later_windows)
        gone = before - after
        wide = (self.streams - 1) * hidden
        width = 4 * hidden + wide + layer.attention
        if layer.rows:
            scores = _biased(layer, step) if self.biased else _scores(layer, step)
            hole = min(every - before, scores // 8) + min(self._given(step), scores)
            # A bias comes when queries and keys are gone.
            alive = width - hidden if self.biased else width
            yield self._moment("attention", step, before + scores + hole, alive, every - before)
        if layer.chooser:
            for name, fixed, queries in layer.chooser.moments(step, _scores(layer, step)):
                # Next to the queries these hold their streams twice more.
                more = 2 * wide if layer.chooser.kind in ("grouped", "scored") else 0
                yield self._moment(name, step, before + fixed, width + queries + more)
        states = step.n_seq_max * layer.states * _FLOAT
        if layer.mlp:
            # Of shared experts: next to what the others gave, and a hole of that.
            rows = 7 if layer.experts else 5
            width = rows * hidden + wide + layer.mlp
            yield self._moment("MLP", step, after, width, gone + 2 * states)
        if layer.experts:
            streams = 6 if layer.window is None else 7  # holes of the other kind's mask
            yield self._moment(
                "experts", step, after, streams * hidden + wide + layer.experts, gone
            )
        if layer.scan:
            pairs = 9 * tokens * tokens * layer.pairs
            width = 4 * hidden + wide + layer.scan
            yield self._moment("state", step, after + states + pairs, width, gone)

    def _moment(self, name: str, step: Step, fixed: int, width: int, gone: int = 0) -> Moment:
        alive = step.tokens * width * _FLOAT
        fixed += min(gone, alive * _LAYER_HOLE[0] // _LAYER_HOLE[1]) + self._rotations(step)
        return Moment(name, fixed + alive, 0, f"{step.tokens:,} × {width:,} × 4 + {fixed:,}")

    def _given(self, step: Step) -> int:
        """The outputs of all experts that serve a token, behind which the stream goes on."""
        served = max((layer.served for layer, _, _ in self.layers), default=0)
        return served * step.tokens * self.hidden * _FLOAT

    def _inputs(self, step: Step) -> int:
        """What is alive through all layers; without flash attention, which holds values transposed,
        the place of each value too."""
        windows = {layer.window for layer, _, _ in self.layers if layer.rows}
        values = max((layer.value for layer, _, _ in self.layers), default=0)
        places = 0 if step.flash else 8 * values * len(windows)
        # Features come as an input, and tokens are padded to its width.
        features = 2 * self.deepstack * self.hidden
        inputs = step.tokens * (_IDS + (self.by_layer + features) * _FLOAT + places)
        return inputs + group_masks((layer.chooser for layer, _, _ in self.layers), step)

    def _rotations(self, step: Step) -> int:
        """Next to quantized caches: the matrices that rotate keys and values of each head."""
        windows = {layer.window for layer, _, _ in self.layers if layer.rows}
        size = max((layer.head_size for layer, _, _ in self.layers), default=0)
        side = size & -size  # the largest power of two that divides it
        return len(windows) * (side**2 + 64**2) * _FLOAT if step.quantized else 0


def _mask(window: int | None, step: Step) -> int:
    """Bytes of what a layer of this window may look at: float16 with flash attention."""
    return step.cells(window) * step.tokens * (2 if step.flash else _FLOAT)


def _scores(layer: LayerWidths, step: Step) -> int:
    """Without flash attention: every score, and a copy of latents, from which it takes values."""
    if step.flash or not layer.rows:
        return 0
    cells = step.cells(layer.window)
    latents = cells * step.streams * layer.latent * 2
    cells += layer.chooser.group_cells(step) if layer.chooser else 0
    return step.tokens * layer.heads * cells * _FLOAT + latents


def _biased(layer: LayerWidths, step: Step) -> int:
    pairs = step.tokens * step.cells(layer.window)
    return pairs * (3 * layer.heads + 1) * _FLOAT


# ---- read off the tree


@lru_cache(maxsize=4)
def graph_of(
    root: Module,
    layers: tuple[CachedLayer, ...],
    *,
    width: int | None = None,
    heads: int | None = None,
    served: int | None = None,
    name: str = "",
    stacks: tuple[tuple[str, int], ...] = (),
    deepstack: int = 0,
    indexing: Indexing = ALL_TOKENS,
) -> Graph:
    """The graph of the text model of ``root``, whose layers keep ``layers``.

    ``width`` and ``heads`` are those that the config names, ``served`` the experts of a token,
    ``name`` llama.cpp's architecture or the model type, ``stacks`` the paths of the decoder's lists
    of layers and how many each has, ``deepstack`` the layers that get features of pictures,
    ``indexing`` what keys say of its indexer.
    """
    tables = list(_tables(root))
    hidden = width or min((size for _, size in tables), default=0)
    vocabulary = max((rows for rows, size in tables if size == hidden), default=0)
    blocks = _blocks(root, stacks)
    if name in _WITHOUT_EXPERTS:
        blocks = [
            [one for one in block if role_of(one) not in ("expert", "router")] for block in blocks
        ]
    widths = [
        layer_widths(
            blocks[i % len(blocks)] if blocks else [],
            layer,
            hidden,
            heads,
            served,
            indexing,
            rotated=name in _PARTLY_ROTATED,
        )
        for i, layer in enumerate(layers)
    ]
    scored = sum(one.chooser is not None and one.chooser.kind == "scored" for one in widths)
    widths = [
        one._replace(chooser=one.chooser and one.chooser._replace(layers=scored)) for one in widths
    ]
    return Graph(
        hidden,
        vocabulary,
        max((size for _, size in tables if size > hidden), default=0),
        2 if name in _LOGITS_TWICE else 1,
        tuple(dict.fromkeys(_with_later(widths))),
        deepstack,
        name in BIASED,
        max((streams_of(block, hidden) for block in blocks), default=1),
        name not in ENCODERS,
    )


def _with_later(
    widths: Sequence[LayerWidths],
) -> Iterator[tuple[LayerWidths, frozenset[int | None], frozenset[int | None]]]:
    """Each layer, the windows that it and later ones need masks of, and those of later ones."""
    with_later = []
    later_windows: frozenset[int | None] = frozenset()
    for layer in reversed(widths):
        windows = later_windows | {layer.window} if layer.rows else later_windows
        with_later.append((layer, windows, later_windows))
        later_windows = windows
    return reversed(with_later)


def _tables(root: Module) -> Iterator[tuple[int, int]]:
    """Rows and width of the tables of tokens and of heads."""
    for module in each_module(root):
        weight = module.children.get("weight")
        if module.kind in ("token", "lm_head") and isinstance(weight, Parameter):
            yield int(weight.shape[0]), int(weight.shape[1])
    for child in root.children.values():  # a file whose architecture the catalog does not have
        if isinstance(child, Module) and not isinstance(child, Layers):
            weight = child.children.get("weight")
            head = child.component in (Component.EMBEDDING, Component.HEAD)
            if head and isinstance(weight, Parameter) and len(weight.shape) == 2:
                yield int(weight.shape[0]), int(weight.shape[1])


def _blocks(root: Module, stacks: Sequence[tuple[str, int]]) -> list[list[Matrix]]:
    """The matrices of each block of the decoder."""
    runs: list[list[Matrix]] = []
    every = list(matrices(root))
    for path, count in stacks:
        blocks: dict[str, list[Matrix]] = defaultdict(list)
        start = f"{path}." if path else ""
        for matrix in every:
            if matrix.path.startswith(start):
                blocks[matrix.path[len(start) :].partition(".")[0]].append(matrix)
        numbers = sorted(int(name) for name in blocks if name.isdigit())
        runs += [blocks[str(number)] for number in numbers][:count]
    return runs
