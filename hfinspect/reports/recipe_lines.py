"""The layouts of ``memory --quantize`` and ``memory --on list``."""

from collections.abc import Sequence

from ..core.json_form import JsonDocument
from ..core.recipe_list import RecipeList
from ..core.records import dataclass
from ..core.text import byte_size, rounded_count
from ..sizing.cards import Card
from .document import Block, Cell, Column, Document, Paragraph, Table

_PLAIN = tuple("name dtype nbytes padded_nbytes bits_per_weight engine why_unknown note".split())


def lay_out(recipes: RecipeList) -> Document:
    """Recipes whose bytes are known as rows, then why the others are not."""
    known = [size for size in recipes.recipes if size.nbytes is not None]
    columns = (
        Column("name", "recipe"),
        Column("bits_per_weight", "bits per weight"),
        Column("weights", "weights"),
        Column("nbytes", "bytes", "int"),
        Column("engine", "engine"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            size.name,
            "" if size.bits_per_weight is None else f"{size.bits_per_weight:.2f}",
            byte_size(size.nbytes or 0),
            size.nbytes,
            size.engine,
        )
        for size in known
    ]
    count = "unknown" if recipes.parameters is None else rounded_count(recipes.parameters)
    blocks: list[Block] = [
        Paragraph(f"{count} parameters; bytes of all tensors, without headers and padding")
    ]
    if rows:
        blocks.append(Table(columns, tuple(rows), optional=("engine", "weights")))
    reasons: dict[str, list[str]] = {}
    for size in recipes.recipes:
        for text in (size.why_unknown, size.note):
            if text:
                reasons.setdefault(text, []).append(size.name)
    blocks += [Paragraph(f"{_several(names)}: {text}") for text, names in reasons.items()]
    plain = tuple(tuple(size.to_dict()[name] for name in _PLAIN) for size in recipes.recipes)
    main = Table(tuple(Column(name, name) for name in _PLAIN), plain)
    return Document(recipes.origin.name, tuple(blocks), main)


def _several(names: list[str]) -> str:
    if len(names) <= 3:
        return ", ".join(names)
    return f"{names[0]}, {names[1]} and {len(names) - 2} more"


# ---- cards

_OF_CARD = ("name", "kind", "gb", "nbytes", "bandwidth", "family", "usable", "source", "checked")


@dataclass(frozen=True)
class Cards(JsonDocument):
    """The cards that ``--on`` knows by name.

    Fields:
        cards: one for each name
    """

    cards: Sequence[Card]


def lay_out_cards(cards: Sequence[Card]) -> Document:
    """One row a card."""
    columns = (
        Column("name", "device"),
        Column("gb", "GB", "int"),
        Column("usable_gb", "usable, 10^9"),
        Column("bandwidth", "GB/s", "int"),
        Column("family", "family"),
        Column("usable", "usable by"),
    )
    rows = tuple(
        (
            card.name,
            card.gb,
            f"{card.nbytes / 10**9:.1f}",
            card.bandwidth // 10**9,
            card.family,
            card.usable,
        )
        for card in cards
    )
    main = Table(
        tuple(Column(name, name) for name in _OF_CARD),
        tuple(tuple(card.to_dict()[name] for name in _OF_CARD) for card in cards),
    )
    table = Table(columns, rows, optional=("usable", "family"))
    title = f"{len(cards)} device names for --on"
    return Document(title, (table,), main)
