"""The table of recipes by context: each recipe's bytes, with the cache and the workspace of the
request, against the named card or against cards of the usual sizes.

Where several cards share a model under tensor or expert parallelism, a card holds of a recipe
``bytes / cards`` at least, and at most twice what its share of the stored weights has above that:
of what is copied to every card (norms, latents, routers) no recipe holds more than two bytes for
one.
Where whole layers are dealt out, only the row of the weights as they are stored is summed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from ..core.footprint import Memory
from ..core.recipe_bytes import RecipeSize
from ..core.recipe_fits import HeldAt, OnCard, RecipeFits
from ..core.results import Inspection
from ..trees.prediction import Prediction
from .bounds import Case
from .deciding import more_at_most
from .devices import Device
from .engines.interface import Engine
from .flat_widths import at_bits
from .gguf_layers import engine_layers, tree_of_file
from .largest import largest
from .memory_request import MAX_CONTEXT, MemoryRequest
from .own_cache import USUAL_CONTEXTS
from .plan import shared_by, weights_of, with_adapter
from .sizer import Sizer, sizer

#: Gigabytes of the cards that most people have, where none is named.
USUAL_CARDS: Final = (8, 12, 16, 24, 48, 80)
#: The recipe that is no recipe.
STORED: Final = "as stored"


def recipe_table(
    inspection: Inspection,
    prediction: Prediction | None,
    request: MemoryRequest,
    memory: Memory,
    sizes: Sequence[RecipeSize],
) -> tuple[RecipeFits, ...]:
    """A row for each of ``sizes``; ``memory`` is what ``plan`` gave for the model and request."""
    request = shared_by(request, inspection, prediction)
    make = _of_cache(inspection, prediction, request, memory) or _of_pass(
        inspection, request, memory
    )
    cards = (
        [request.device]
        if request.device
        else [
            Device(f"{n} GB", request.engine.usable(n * 10**9), capacity=n * 10**9)
            for n in USUAL_CARDS
        ]
    )
    rows = [RecipeFits(size, tuple(make(size, card) for card in cards)) for size in sizes]
    return tuple(_marked(rows) if request.device else rows)


#: A recipe on one card.
_FitOnCard = Callable[[RecipeSize, Device], OnCard]


def _on_each(
    size: RecipeSize, memory: Memory, request: MemoryRequest, card: Device
) -> tuple[int, int | None] | None:
    """Bytes of a recipe on the fullest card, at least and at most; None where there are none."""
    if size.nbytes is None:
        return None
    cards = card.count if request.parallel.alone else request.parallel.devices
    least = -(-size.nbytes // cards)
    amount = memory.weights.per_device
    entire = memory.weights.nbytes
    if cards == 1:
        return least, least
    if amount is None or entire is None or request.parallel.alone or request.parallel.pipeline > 1:
        return least, None
    return least, least + 2 * (amount - entire // cards)


def _of_cache(
    inspection: Inspection, prediction: Prediction | None, request: MemoryRequest, memory: Memory
) -> _FitOnCard | None:
    """Rows of a model whose cache is known."""
    if prediction is None and memory.at and inspection.format == "gguf":
        prediction = tree_of_file(inspection)
    if prediction is None or not memory.at:
        return None
    layers = engine_layers(inspection, prediction.root, request.engine, images=request.crosses)
    weights = with_adapter(weights_of(inspection), request)
    sized = sizer(inspection, prediction, layers, weights, replace(request, device=None))
    limit = inspection.facts.context
    columns = _columns(limit, request.context)
    end = max(limit, request.context or 0) if limit else MAX_CONTEXT

    # Who writes no dtype computes in that of the weights: so is the cache.
    float32 = (
        bool(sized.assumed) and request.dtype is None and request.engine.default_cache_dtype is None
    )

    @cache
    def under(engine: Engine, device: Device | None, wide: bool) -> Sizer:
        cache_request = replace(sized.cache_request, dtype="F32") if wide else sized.cache_request
        request_here = replace(sized.request, engine=engine, device=device)
        return replace(sized, cache_request=cache_request, request=request_here)

    @cache
    def more(engine: Engine, context: int, wide: bool) -> tuple[int, int]:
        sums = under(engine, None, wide).sums(context, request.batch)
        if sums.workspace is None:
            return sums.cache, 0
        # As in the verdict: activations of twice the bytes.
        return sums.cache, sums.workspace.nbytes + wide * sums.workspace.activation

    limits = _of_any_width(inspection, request) if weights.nbytes is None else None

    def make(size: RecipeSize, card: Device) -> OnCard:
        engine = sized.request.engine.on_device(card.capacity or card.nbytes, card.name)
        each = _on_each(size, memory, request, card)

        def fit_at(context: int) -> HeldAt:
            if memory.workspace_unknown:
                lowest = (each or (0,))[0] + more(engine, context, False)[0] // card.count
                return HeldAt(context, None, False if lowest > card.nbytes else None)
            if size.name == STORED:
                sums = under(engine, card, False).sums(context, request.batch)
                if sums.total is not None or limits is None:
                    return HeldAt(context, sums.total, sums.fits)
                smallest = limits[0] + sum(more(engine, context, False))
                most = limits[1] + sum(more(engine, context, float32))
                return HeldAt(context, None, Case("", smallest, most).fits_in(card.nbytes))
            if each is None:
                return HeldAt(context, None, None)
            wide = float32 and size.dtype == "F32"
            cache_bytes, workspace = more(engine, context, wide)
            least, most_weights = each
            total = None if most_weights is None else most_weights + cache_bytes + workspace
            # Who deals out whole layers deals out their cache too.
            cache_share = -(-cache_bytes // card.count) if request.parallel.alone else cache_bytes
            if least + cache_share + workspace > card.nbytes:
                return HeldAt(context, total, False)
            return HeldAt(context, total, True if total and total <= card.nbytes else None)

        at = tuple(map(fit_at, columns))
        if None in [fit_at(1).fits, *(one.fits for one in at)]:
            return OnCard(card.name, card.nbytes, at)
        tried = dict(zip(columns, (one.fits for one in at), strict=True))
        longest = largest(lambda tokens: fit_at(tokens).fits, end, tried)
        longer = longest == end and (not limit or bool(fit_at(end + 1).fits))
        return OnCard(card.name, card.nbytes, at, longest if limit or not longer else None, longer)

    return make


def _of_pass(inspection: Inspection, request: MemoryRequest, memory: Memory) -> _FitOnCard:
    """Rows of a model that keeps nothing, or of which nothing is known: the weights and a pass."""
    limit = more_at_most(memory, inspection, request)
    weights = with_adapter(weights_of(inspection), request)

    def make(size: RecipeSize, card: Device) -> OnCard:
        nbytes = weights.nbytes if size.name == STORED else size.nbytes
        if nbytes is None and size.name == STORED and weights.widths and limit is not None:
            low = weights.widths["int4"]
            high = weights.widths["float32"] + limit
            least = -(-low // card.count) if request.parallel.alone else low
            at_least = HeldAt(None, None, Case("", least, high).fits_in(card.nbytes))
            return OnCard(card.name, card.nbytes, (at_least,))
        if nbytes is None:
            return OnCard(card.name, card.nbytes, (HeldAt(None, None, None),))
        total = None if limit is None else nbytes + limit
        least = -(-nbytes // card.count) if request.parallel.alone else nbytes
        fits = False if least > card.nbytes else None
        if total is not None and total <= card.nbytes:
            fits = True
        return OnCard(card.name, card.nbytes, (HeldAt(None, total, fits),))

    return make


def _of_any_width(inspection: Inspection, request: MemoryRequest) -> tuple[int, int] | None:
    """Weights of an unknown dtype on one card, at least and at most; None on several."""
    if not request.parallel.alone or (request.device is not None and request.device.count > 1):
        return None
    sizes = [flat.nbytes for bits in (4, 32) if (flat := at_bits(inspection, bits)) is not None]
    more = 0 if request.adapter is None else request.adapter.nbytes
    known = [size + more for size in sizes if size is not None]
    return (known[0], known[1]) if len(known) == 2 else None


def _columns(limit: int | None, requested: int | None) -> tuple[int, ...]:
    if requested is not None:
        return (requested,)
    return tuple(tokens for tokens in USUAL_CONTEXTS if limit is None or tokens < limit) or (
        (limit,) if limit else ()
    )


def _marked(rows: list[RecipeFits]) -> list[RecipeFits]:
    """With a mark at the largest that fits at the first context."""
    fitting = [row for row in rows if row.on[0].at[0].fits and row.size.nbytes is not None]
    best = max(fitting, key=lambda row: row.size.nbytes or 0, default=None)
    return [replace(row, largest=row is best) for row in rows]
