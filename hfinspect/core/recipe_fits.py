"""Which recipes of a model a card holds, and up to which context: the table of ``memory``."""

from __future__ import annotations

from .json_form import JsonForm
from .recipe_bytes import RecipeSize
from .records import dataclass


@dataclass(frozen=True)
class HeldAt(JsonForm):
    """Whether a device holds a recipe at one context.

    Fields:
        context [tokens]: of each sequence; None for a model that keeps nothing between passes
        total [bytes]: weights, cache and the workspace's limit; None where unknown
        fits: whether the device holds it; None where that is not known
    """

    context: int | None
    total: int | None
    fits: bool | None


@dataclass(frozen=True)
class OnCard(JsonForm):
    """A recipe on one card.

    Fields:
        card: its name, or its size
        nbytes [bytes]: of the card
        at: the contexts of the table's columns
        longest [tokens]: that fits, up to the model's own context or the one that was named; 0
            where none does, None where any length fits or nothing is kept
        holds_more: whether the card holds a longer context
    """

    card: str
    nbytes: int
    at: tuple[HeldAt, ...]
    longest: int | None = None
    holds_more: bool = False


@dataclass(frozen=True)
class RecipeFits(JsonForm, flat="size"):
    """One row: a recipe's bytes, and each card of the table.

    Fields:
        size: the recipe and its bytes
        on: the named card, or cards of the usual sizes
        largest: whether it is the largest that fits the named card at the first context
    """

    size: RecipeSize
    on: tuple[OnCard, ...]
    largest: bool = False
