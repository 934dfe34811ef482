"""Bytes of cache and workspace as constants: points with straight lines between them.

What a page with sliders needs: every number that it can show is the one that ``plan`` gives at that
context, batch, engine and dtype, and the page itself knows no rule of any engine. A sum grows in
straight lines with knees (a window that is full, a step that is cut), so that the points of a
hundred contexts are two or three; a point is left out only where the line through its neighbours
gives its number exactly.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

from ..core.footprint import Memory
from ..core.records import dataclass
from ..core.results import Inspection
from ..errors import UsageError
from ..trees.prediction import Prediction
from .cache_request import CachedLayer, CacheRequest
from .devices import CARDS, Device
from .engines.interface import Engine
from .engines.registry import ENGINES, LOGICAL
from .gguf_layers import engine_layers
from .kv_cache import CountedCaches, cache_bytes, cache_size, cached_layers_with_paths, caches_under
from .memory_request import MemoryRequest
from .parallel import divided
from .plan import refused, shared_by
from .sizer import cache_request_of, sizer

#: Contexts go from here, in halves of an octave, to the model's own.
_FIRST: Final = 128
#: The last one where a model does not say how many tokens it takes.
_LAST: Final = 131_072
_MOST: Final = 2**24
BATCHES: Final = (1, 2, 4, 8, 16, 32, 64, 128)
#: Next to the model's own dtype: half and a quarter of 16 bits.
DTYPES: Final = ("F8_E4M3", "q8_0", "q4_0")
#: Cards that a picture has lines for: (how many, the card).
_ALONE: Final = ("RTX 4060", "T4", "RTX 4090", "RTX 5090", "L40S", "H100", "H200", "MI300X")
_SEVERAL: Final = ((2, "H100"), (4, "H100"), (8, "H100"), (8, "H200"), (8, "B200"))
LINES: Final = (*((1, name) for name in _ALONE), *_SEVERAL)

#: (tokens, bytes) of each corner.
Corners = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Curve:
    """Bytes by context under one engine with one dtype of the cache: of each batch of ``BATCHES``
    the cache and the workspace.

    Fields:
        engine: whose rules
        dtype: of keys and values
        weights [bytes]: as this engine holds them; None where unknown
        cache [tokens, bytes]: corners, by batch
        workspace [tokens, bytes]: corners, by batch
    """

    engine: str
    dtype: str
    weights: int | None
    cache: tuple[Corners, ...]
    workspace: tuple[Corners, ...]


@dataclass(frozen=True)
class Curves:
    """Curves of every engine that runs the model, and dtype, over the same contexts.

    Fields:
        contexts [tokens]: for which the curves are exact
        batches [sequences]: of which each curve has one line
        curves: by engine, then dtype, the model's own dtype first
        cards [bytes]: that a card or several have, by name
    """

    contexts: tuple[int, ...]
    batches: tuple[int, ...]
    curves: tuple[Curve, ...]
    cards: tuple[tuple[str, int], ...]


def curves(
    inspection: Inspection,
    prediction: Prediction,
    memory: Memory,
    request: MemoryRequest | None = None,
) -> Curves | None:
    """None where the cache is not known (``memory`` says why), and where the devices hold unequal
    parts: stages, or the layers of llama.cpp on several GPUs. ``request`` is what ``memory`` was
    made for: its context, batch, dtype and device are among the points."""
    if memory.cache_unknown or memory.workspace_unknown or memory.main is None:
        return None
    request = (
        MemoryRequest(LOGICAL) if request is None else shared_by(request, inspection, prediction)
    )
    device = request.device
    if request.parallel.pipeline > 1 or (device and device.count > 1 and request.parallel.alone):
        return None
    request = replace(request, device=None)
    contexts = tuple(sorted({*_contexts(inspection.facts.context), memory.main.context}))
    batches = tuple(sorted({*BATCHES, request.batch}))
    layers = engine_layers(inspection, prediction.root, LOGICAL, images=request.crosses)
    curves = [
        curve
        for engine in ENGINES.values()
        if not refused(prediction, layers, engine)
        and (request.parallel.alone or not engine.places_layers)
        for curve in _of_engine(
            inspection, prediction, memory, _under(request, engine), contexts, batches
        )
    ]
    return Curves(contexts, batches, tuple(curves), _cards(device, request))


def _cards(device: Device | None, request: MemoryRequest) -> tuple[tuple[str, int], ...]:
    """The named device first; several cards only where no part of a model is drawn."""
    shared = not request.parallel.alone
    lines = {
        name if count == 1 else f"{count} × {name}": count * CARDS[name] * 1024**2
        for count, name in LINES
        if count == 1 or not shared
    }
    own_line = {} if device is None else {device.name: device.nbytes}
    return tuple({**own_line, **lines}.items())


def _under(request: MemoryRequest, engine: Engine) -> MemoryRequest:
    """The request under another engine, whose own steps are its usual ones."""
    return (
        request
        if engine.name == request.engine.name
        else replace(request, engine=engine, dtype=None)
    )


def _of_engine(
    inspection: Inspection,
    prediction: Prediction,
    memory: Memory,
    request: MemoryRequest,
    contexts: Sequence[int],
    batches: Sequence[int],
) -> Iterator[Curve]:
    """The curves of the dtypes that an engine has: the named one first, else the one that is taken
    without a choice."""
    engine = request.engine
    every = engine_layers(inspection, prediction.root, engine, images=request.crosses)
    # What one device holds: a part of each layer, and of llama.cpp's not the table of tokens.
    sized = sizer(inspection, prediction, every, memory.weights, request)
    weights = sized.fullest_weights
    cache = sized.cache_request
    layers = [divided(layer, request.parallel.tensor, inspection) for layer in every]
    sums = [[(n, engine.workspace(sized.limit, n, batch)) for n in contexts] for batch in batches]
    if None in (one for line in sums for _, one in line):
        return  # no limit, no sum
    workspace = tuple(corners([(n, one.nbytes) for n, one in line if one]) for line in sums)
    usual, _ = cache_request_of(inspection, prediction, replace(request, dtype=None))
    for dtype in dict.fromkeys((cache.dtype, usual.dtype, *DTYPES)):
        with contextlib.suppress(UsageError):  # no dtype of this engine, or not for these rows
            if dtype != cache.dtype:
                engine.cache_dtype(dtype)
            cache_request = replace(cache, dtype=dtype)
            counted, blocks = caches_under(layers, engine, cache_request)
            caches = tuple(
                corners(_cache(counted, blocks, replace(cache_request, batch=b), contexts))
                for b in batches
            )
            yield Curve(engine.name, dtype, weights, caches, workspace)


def _cache(
    counted: CountedCaches, engine: Engine, request: CacheRequest, contexts: Sequence[int]
) -> list[tuple[int, int]]:
    return [(n, cache_bytes(counted, engine, replace(request, tokens=n))) for n in contexts]


class CacheOfLayers(NamedTuple):
    """What equal layers hold of a cache.

    Fields:
        stack: dotted name of the list of layers
        layers [indices, from 0]: that hold it
        label: what they hold
        state: whether it is a state of fixed size
        nbytes [bytes]: of all these layers
    """

    stack: str
    layers: tuple[int, ...]
    label: str
    state: bool
    nbytes: int


def caches_by_layer(
    inspection: Inspection, prediction: Prediction, memory: Memory
) -> tuple[CacheOfLayers, ...]:
    """The main cache of ``memory``, layer by layer; nothing where it is not known."""
    cache = memory.cache
    if cache is None:
        return ()
    engine = ENGINES[cache.engine]
    every = engine_layers(inspection, prediction.root, engine)
    sized = sizer(inspection, prediction, every, memory.weights, MemoryRequest(engine))
    paged, engine = engine.in_pages(every, sized.cache_request)
    places = [(stack, number) for stack, number, _ in cached_layers_with_paths(prediction.root)]
    if len(places) != len(every):  # a file's layers next to those of its config
        places = [("blk", number) for number in range(len(every))]
    layers: dict[tuple[str, CachedLayer], list[int]] = {}
    for (stack, number), layer in zip(places, paged, strict=True):
        layers.setdefault((stack, layer), []).append(number)
    parts = []
    for (stack, layer), numbers in layers.items():
        request = replace(sized.cache_request, tokens=cache.tokens, batch=cache.batch)
        size = cache_size((layer,) * len(numbers), engine, request)
        parts += [
            CacheOfLayers(
                stack, tuple(sorted(set(numbers))), group.label, group.rows == 0, group.nbytes
            )
            for group in size.layers
        ]
    return tuple(parts)


def _contexts(longest: int | None) -> Iterable[int]:
    """128, 192, 256, 384, ... and the model's own at the end."""
    last = int(min(longest or _LAST, _MOST))
    step = _FIRST
    while step < last:
        yield step
        if step + step // 2 < last:
            yield step + step // 2
        step *= 2
    yield last


def corners(points: Sequence[tuple[int, int]]) -> Corners:
    """The fewest of the points, first and last among them, whose straight lines go exactly through
    all others; taken from the left, as far as a line goes."""
    chosen = [0]
    while chosen[-1] < len(points) - 1:
        start = chosen[-1]
        stop = start + 1
        while stop + 1 < len(points) and _straight(points, start, stop, stop + 1):
            stop += 1
        chosen.append(stop)
    return tuple(points[at] for at in chosen)


def _straight(points: Sequence[tuple[int, int]], a: int, b: int, c: int) -> bool:
    """Whether three points are on one line."""
    (x0, y0) = points[a]
    (x1, y1) = points[b]
    (x2, y2) = points[c]
    return (y1 - y0) * (x2 - x0) == (y2 - y0) * (x1 - x0)


def value_at(points: Corners, tokens: int) -> int:
    """Bytes at one of the contexts that the points were taken from."""
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 <= tokens <= x1:
            return y0 + (y1 - y0) * (tokens - x0) // (x1 - x0)
    return points[-1][1]
