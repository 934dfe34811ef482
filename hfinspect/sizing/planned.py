"""A plan with its table of recipes: what ``memory`` shows of one model."""

from __future__ import annotations

from dataclasses import replace

from ..core.footprint import Memory
from ..core.precision import precision
from ..core.recipe_bytes import RecipeSize
from ..core.results import Inspection
from ..trees.prediction import Prediction
from .engines.registry import OF_GGUF
from .memory_request import MemoryRequest
from .plan import plan, weights_of


def planned(found: Inspection, prediction: Prediction | None, wish: MemoryRequest) -> Memory:
    """``plan`` and, but for training, each recipe of the usual table. Raises what ``plan`` does."""
    memory = plan(found, prediction, wish)
    if wish.train is not None or found.adapter is not None:
        return memory
    from .recipe_table import recipe_table  # a scan has no table
    from .recipes import DEFAULT_RECIPES, recipe_sizes

    names: tuple[str, ...] = DEFAULT_RECIPES
    stored = weights_of(found).nbytes
    if stored is None:  # what it may be stored as
        names = (names[0], "F32", "BF16", *names[1:])
    if wish.width is not None and wish.width not in names:
        names = (*names, wish.width)
    first, *others = recipe_sizes(found, prediction, names)
    # Nobody packs what is packed already into more bytes.
    smaller = [
        size
        for size in others
        if size.nbytes is not None
        and (stored is None or size.nbytes < stored or size.name == wish.width)
        and (_runs(size, wish) or size.name == wish.width)
    ]
    smaller.sort(key=lambda size: -(size.nbytes or 0))
    dtype = precision(found).replace("dtype unknown", "unknown")
    sizes = [replace(first, dtype=dtype, nbytes=stored), *smaller]
    if wish.adapter is not None:
        more = wish.adapter.nbytes
        sizes = [replace(s, nbytes=None if s.nbytes is None else s.nbytes + more) for s in sizes]
    return replace(memory, recipes=recipe_table(found, prediction, wish, memory, sizes))


def _runs(size: RecipeSize, wish: MemoryRequest) -> bool:
    """Whether the engine that was named runs a recipe. On several cards a GGUF file runs where the
    engine places its layers."""
    engine = wish.engine
    if size.engine != OF_GGUF.name:
        return engine.runs_others
    several = not wish.parallel.alone or (wish.device is not None and wish.device.count > 1)
    return engine.runs_gguf and (engine.places_layers or not several)
