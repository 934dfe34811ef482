"""A model under every recipe: ``memory MODEL --quantize all``."""

from __future__ import annotations

from .display import Shown
from .json_form import JsonDocument
from .recipe_bytes import RecipeSize
from .records import dataclass
from .refs import Origin


@dataclass(frozen=True)
class RecipeList(
    JsonDocument,
    Shown,
    without="origin",
    names={"origin.commit": "commit"},
    after={"commit": "target"},
):
    """A model under recipes, in the order of the table.

    Fields:
        target: the model as it was named
        origin: what was read, and at which commit
        parameters [parameters]: unique parameters of the class; None if a packing is unknown
        recipes: each with its bytes, or why these are not known
    """

    target: str
    origin: Origin
    parameters: int | None
    recipes: tuple[RecipeSize, ...]

    def _in_a_line(self) -> str:
        known = sum(size.nbytes is not None for size in self.recipes)
        return f"{self.target}: {known} of {len(self.recipes)} recipes are known"
