"""A plan with its table of recipes: what ``memory`` shows of one model."""

from dataclasses import replace

from ..core.footprint import Memory
from ..core.lazy_sequence import LazySequence
from ..core.precision import precision
from ..core.recipe_bytes import RecipeSize
from ..core.recipe_fits import RecipeFits
from ..core.records import dataclass
from ..core.results import Inspection
from ..trees.prediction import Prediction
from .engines.registry import OF_GGUF
from .memory_request import MemoryRequest
from .plan import plan, weights_of


def planned(
    inspection: Inspection, prediction: Prediction | None, request: MemoryRequest
) -> Memory:
    """``plan`` and, but for training, each recipe of the usual table. Raises what ``plan`` does."""
    memory = plan(inspection, prediction, request)
    if request.train is not None or inspection.adapter is not None:
        return memory
    return replace(memory, recipes=UsualRecipes(inspection, prediction, request, memory))


@dataclass(frozen=True, eq=False, repr=False)
class UsualRecipes(LazySequence[RecipeFits]):
    """The rows of the usual table, summed when someone looks at one: they take several times as
    long as the rest of the answer, which is often all that a program reads."""

    inspection: Inspection
    prediction: Prediction | None
    request: MemoryRequest
    memory: Memory

    def make_items(self) -> tuple[RecipeFits, ...]:
        from .recipe_table import recipe_table  # a scan has no table

        of_model = self.inspection, self.prediction, self.request
        return recipe_table(*of_model, self.memory, _sizes(*of_model))

    def __len__(self) -> int:
        return len(self._all)

    def __reduce__(self) -> tuple[type[tuple[RecipeFits, ...]], tuple[tuple[RecipeFits, ...]]]:
        """A copy, and what another process gets, is the rows."""
        return tuple, (self._all,)


def _sizes(
    inspection: Inspection, prediction: Prediction | None, request: MemoryRequest
) -> list[RecipeSize]:
    """The recipes of the table with their bytes, the largest first, after the weights as stored."""
    from .recipes import DEFAULT_RECIPES, recipe_sizes

    names: tuple[str, ...] = DEFAULT_RECIPES
    stored = weights_of(inspection).nbytes
    if stored is None:  # what it may be stored as
        names = (names[0], "F32", "BF16", *names[1:])
    if request.width is not None and request.width not in names:
        names = (*names, request.width)
    first, *others = recipe_sizes(inspection, prediction, names)
    # Nobody packs what is packed already into more bytes.
    smaller = [
        size
        for size in others
        if size.nbytes is not None
        and (stored is None or size.nbytes < stored or size.name == request.width)
        and (_runs(size, request) or size.name == request.width)
    ]
    smaller.sort(key=lambda size: -(size.nbytes or 0))
    dtype = precision(inspection).replace("dtype unknown", "unknown")
    sizes = [replace(first, dtype=dtype, nbytes=stored), *smaller]
    if request.adapter is not None:
        more = request.adapter.nbytes
        sizes = [replace(s, nbytes=None if s.nbytes is None else s.nbytes + more) for s in sizes]
    return sizes


def _runs(size: RecipeSize, request: MemoryRequest) -> bool:
    """Whether the engine that was named runs a recipe. On several cards a GGUF file runs where the
    engine places its layers."""
    engine = request.engine
    if size.engine != OF_GGUF:
        return engine.runs_others
    several = not request.parallel.alone or (
        request.device is not None and request.device.count > 1
    )
    return engine.runs_gguf and (engine.places_layers or not several)
