"""The layout of ``memory A B``: one row a model."""

from collections.abc import Sequence
from dataclasses import replace

from ..core.fitting import DEPENDS
from ..core.footprint import Memory
from ..core.json_form import JsonDocument
from ..core.records import dataclass
from ..core.text import byte_size, rounded_count
from .document import Block, Cell, Column, Document, Paragraph, Table
from .judgement import judgement
from .memory_screen import device_in_full, limit_that_decides

_PLAIN = tuple(
    """target parameters precision weights_nbytes cache_per_token context total_nbytes answer
    max_context""".split()
)
#: Left out where there is no room, the last first.
_OPTIONAL = ("parameters", "context", "precision", "per_token")


@dataclass(frozen=True)
class Memories(JsonDocument):
    """Several models, sized with the same options.

    Fields:
        models: in the order in which they were named; each as memory.schema.json describes it
    """

    models: Sequence[Memory]


def lay_out(memories: Sequence[Memory]) -> Document:
    """All were sized under one request."""
    first = memories[0]
    columns = [
        Column("target", "model"),
        Column("parameters", "parameters"),
        Column("precision", "dtype"),
        Column("weights", "weights"),
    ]
    runs = first.training is None and not first.training_unknown
    if runs:
        columns += [Column("per_token", "cache per token"), Column("context", "context", "int")]
    columns.append(Column("total", "total"))
    on = []
    if first.device is not None:
        columns.append(Column("fits", "fits"))
        columns += [Column("longest", "longest")] if runs else []
        on = [Paragraph(f"on {device_in_full(first)}")]
    rows = tuple(_row(one, {column.name for column in columns}) for one in memories)
    blocks: list[Block] = [*on, Table(tuple(columns), rows, optional=_OPTIONAL)]
    blocks[:0] = [
        replace(block, text=f"{one.origin.name}: {block.text}")
        for one in memories
        for block in judgement(one.problems, short=True)
    ]
    blocks += [
        Paragraph(f"{one.origin.name}: {one.verdict.text}")
        for one in memories
        if one.verdict is not None and one.verdict.answer == DEPENDS
    ]
    return Document(f"{len(memories)} models", tuple(blocks), _plain(memories))


def _row(memory: Memory, columns: set[str]) -> tuple[Cell, ...]:
    count = memory.weights.parameters
    weights = memory.weights.nbytes
    cache = memory.cache
    main = memory.main
    training = memory.training
    total = memory.total if training is None else training.least
    shown = "unknown" if total is None else byte_size(total)
    if training is None and (main is None or total is None) and memory.verdict is not None:
        shown = limit_that_decides(memory.verdict) or shown
    cells: dict[str, Cell] = {
        "target": memory.origin.name,
        "parameters": "unknown" if count is None else rounded_count(count),
        "precision": memory.precision,
        "weights": "unknown" if weights is None else byte_size(weights),
        "per_token": "" if cache is None else byte_size(cache.per_token_first),
        "context": None if main is None else main.context,
        "total": shown,
        "fits": "" if memory.verdict is None else memory.verdict.answer,
        "longest": _longest(memory),
    }
    return tuple(cell for name, cell in cells.items() if name in columns)


def _longest(memory: Memory) -> str:
    if memory.max_context is None:
        return "any" if memory.holds_more else "?" * (memory.main is not None)
    return f"{memory.max_context:,}{'+' * memory.holds_more}" if memory.max_context else "-"


def _plain(memories: Sequence[Memory]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            one.target,
            one.weights.parameters,
            one.precision,
            one.weights.nbytes,
            None if one.cache is None else one.cache.per_token_first,
            None if one.main is None else one.main.context,
            one.total if one.training is None else one.training.least,
            None if one.verdict is None else one.verdict.answer,
            one.max_context,
        )
        for one in memories
    ]
    return Table(tuple(Column(name, name) for name in _PLAIN), tuple(rows))
