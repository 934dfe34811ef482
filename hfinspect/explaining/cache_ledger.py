"""The cache, line by line: what the blocks of the tree say that they keep, as formulas.

The sizes are those of ``sizing``; here they get their letters. A test evaluates the formulas over
every family with a recorded cache.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core.cache_derivation import CacheDerivation, CacheLine
from ..core.cache_size import CacheSize
from ..core.ledger_lines import Letter
from ..core.results import Inspection
from ..errors import NothingToInspectError
from ..sizing.cache_request import CachedLayer, CacheRequest
from ..sizing.engines.cache_dtypes import packed, two_dtypes
from ..sizing.engines.interface import Engine
from ..sizing.gguf_layers import engine_layers
from ..sizing.kv_cache import counted_caches, layer_count
from ..sizing.memory_request import MemoryRequest
from ..sizing.plan import plan
from ..sizing.sizer import cache_request_of
from ..trees.cache_layout import CacheItem, KeysValues, State
from ..trees.prediction import Prediction
from .letters import assign, meaning_of
from .polynomials import Polynomial, number, of_shape, of_size, with_widths
from .writer import Writer


def cache_explained(
    inspection: Inspection, prediction: Prediction | None, request: MemoryRequest
) -> CacheDerivation:
    """The derivation of the cache that ``sizing`` plans for this request.

    Raises NothingToInspectError for a model that keeps nothing between tokens, or whose layout no
    rule knows.
    """
    planned = plan(inspection, prediction, request)
    cache = planned.cache
    if cache is None or prediction is None or not cache.layers:
        reason = planned.cache_unknown or "it keeps no state between tokens"
        raise NothingToInspectError(
            inspection.target,
            f"has no cache to derive: {reason}",
            hint="explain derives its parameters, memory sizes its weights",
        )
    cache_request, _ = cache_request_of(inspection, prediction, request)
    cache_request = replace(cache_request, tokens=cache.tokens, batch=cache.batch)
    layers = engine_layers(inspection, prediction.root, request.engine)
    return _derived(inspection, prediction, layers, cache, cache_request, request.engine)


def _derived(
    inspection: Inspection,
    prediction: Prediction,
    layers: Sequence[CachedLayer],
    cache: CacheSize,
    cache_request: CacheRequest,
    engine: Engine,
) -> CacheDerivation:
    """The derivation of ``cache``, which is that of these layers as ``cache_request`` says."""
    layers, engine = engine.in_pages(layers, cache_request)
    kinds = list(counted_caches(engine.in_groups(layers)).items())
    every = layer_count(prediction.root)
    counts = [every if count == every == len(layers) else count for _, count in kinds]
    sums = [
        with_widths(of_size(count) * _one(item, engine))
        for ((item, _), _), count in zip(kinds, counts, strict=True)
    ]
    windows = [None if window is None else of_size(window) for (_, window), _ in kinds]
    formulas = [*sums, *(window for window in windows if window is not None)]
    letters = assign(quantity for one in formulas for quantity in one.quantities())
    writer = Writer(letters)
    lines = []
    for i, (((item, window), count), group) in enumerate(zip(kinds, cache.layers, strict=True)):
        length = windows[i]
        shown = "" if length is None or window is None else _window(writer, length, window)
        is_rows = isinstance(item, KeysValues)
        lines.append(
            CacheLine(
                label=group.label,
                layers=f"{count:,} of {len(layers):,}" if count < len(layers) else f"all {count:,}",
                elements=writer.formula(sums[i]),
                rows=group.rows if is_rows else cache.batch,
                rows_formula=_rows(item, shown, engine),
                width=_width(group.nbytes, sums[i].value, group.rows or cache.batch, group.dtype),
                dtype=group.dtype,
                nbytes=group.nbytes,
            )
        )
    names = tuple(
        Letter(letter, quantity.name, quantity.value, _meaning(quantity, letters))
        for quantity, letter in letters.items()
    )
    return CacheDerivation(
        inspection.target,
        inspection.origin,
        prediction.architecture,
        prediction.model_type,
        cache,
        names,
        tuple(lines),
        (*_notes(layers, kinds), *cache.notes),
    )


def _one(item: CacheItem, engine: Engine) -> Polynomial:
    """Elements of one layer: a token's row, or a sequence's state."""
    if isinstance(item, KeysValues):
        return (of_size(item.key) + of_size(item.value)) * number(engine.row_copies(item))
    if isinstance(item, State):
        return of_shape(engine.state_shape(item))
    return number(0)  # an unknown layout is refused before


def _window(writer: Writer, window: Polynomial, value: int) -> str:
    text = writer.formula(window).text
    return f"{value:,}" if text.isdecimal() else text


def _rows(item: CacheItem, window: str, engine: Engine) -> str:
    """How many rows the engine holds of N tokens of b sequences: ``Engine.rows`` in symbols."""
    if not isinstance(item, KeysValues):
        return "b"
    if item.cross:
        return "b·S"
    if item.every > 1:
        each = int(item.every)
        texts = {"groups": f"b·⌊N/{each}⌋", "rest": f"b·(N mod {each})", "last": f"b·{each}"}
        return texts[item.of]
    if item.before and not window and engine.cells == 1:
        return f"b·(N + {int(item.before):,})"
    return engine.holding(item).rows_formula(window)


def _width(nbytes: int, elements: int, rows: int, dtype: str) -> str:
    """Bytes of an element, or of a row where they are no multiple of its elements, or where keys
    and values have two dtypes."""
    key, value = two_dtypes(dtype)
    size, group = packed(key)
    if key == value and -(-elements * rows * size // group) == nbytes:
        return str(size // group) if size % group == 0 else f"{size}/{group}"
    return f"{nbytes // rows:,} a row of {elements:,}" if rows else "0"


def _meaning(quantity: Any, letters: Mapping[Any, str]) -> str:
    text = meaning_of(quantity)
    if quantity.quotient:
        over, under = quantity.quotient
        if over in letters and under in letters:
            return f"{text}: {letters[over]} / {letters[under]}"
        return f"{text}: {over.name} / {under.name}"
    origin = quantity.definition
    return f"{text}: {origin}" if origin and origin != text else text


def _notes(
    layers: Sequence[CachedLayer], kinds: Sequence[tuple[tuple[CacheItem, int | None], int]]
) -> list[str]:
    notes = []
    without = sum(not layer.cache for layer in layers)
    if without:
        notes.append(
            f"{without:,} of {len(layers):,} layers have no cache of their own: they use the "
            "keys and values of earlier layers, or only the current token"
        )
    items = [item for (item, _), _ in kinds]
    if any(isinstance(item, KeysValues) and item.latent for item in items):
        notes.append("all heads share one latent row: no formula contains their number")
    if any(isinstance(item, State) for item in items):
        notes.append("the size of a state does not depend on the number of tokens")
    return notes
