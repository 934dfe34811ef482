"""Blocks that a picture has: chapters, a bar in pieces, a treemap, strips of layers, curves.

Each has a text form of plain tables, so that a document with pictures can be written in any format.
They hold numbers and names alone; where a tile lies is the renderer's matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, NamedTuple

from ..core.records import dataclass
from ..core.text import byte_size, rounded_count
from .document import Block, Cell, Column, Paragraph, Picture, Table

if TYPE_CHECKING:
    from ..sizing.curves import Curves

#: Contexts that the text form of curves shows.
_SHOWN_CONTEXTS = 6


@dataclass(frozen=True)
class Chapter(Picture):
    """Blocks under a title. ``name`` is its address within a page; ``folded``: a page shows the
    title alone until its reader opens it."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    folded: bool = False

    def in_text(self) -> tuple[Block, ...]:
        return (Paragraph(f"{self.title}:"), *self.blocks)


def without_chapters(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks in order, those of a chapter in its place."""
    for block in blocks:
        if isinstance(block, Chapter):
            yield from without_chapters(block.blocks)
        else:
            yield block


@dataclass(frozen=True)
class StackedBar(Picture):
    """One bar in pieces: (component, share of 1, what it comes to)."""

    title: str
    shares: tuple[tuple[str, float, str], ...]

    def in_text(self) -> tuple[Block, ...]:
        columns = (
            Column("component", "component", "component"),
            Column("share", "share", "share"),
            Column("bar", "", "bar"),
            Column("size", self.title, "int"),
        )
        rows = tuple((name, share, ((name, share),), text) for name, share, text in self.shares)
        return (Table(columns, rows, optional=("bar",)),)


class Measure(NamedTuple):
    """What areas stand for: ``parameters`` or ``bytes``. ``note`` says of what."""

    name: str
    title: str
    unit: str
    total: int
    note: str = ""


class Leaf(NamedTuple):
    """A tile at the end of the tree: part of a pipeline (empty for a single model), component,
    group of layers, module; and its size by each measure, None where that is not known."""

    part: str
    component: str
    group: str
    module: str
    sizes: tuple[int | None, ...]


@dataclass(frozen=True)
class Treemap(Picture):
    """Areas of parts, components, groups of layers and modules, by the first or another measure.
    ``rest`` says what was left out of ``leaves``, which still add up."""

    title: str
    measures: tuple[Measure, ...]
    leaves: tuple[Leaf, ...]
    rest: str = ""

    def in_text(self) -> tuple[Block, ...]:
        columns = (
            Column("part", "part"),
            Column("component", "component", "component"),
            Column("layers", "layers"),
            Column("module", "module"),
            *(Column(m.name, m.title, "int") for m in self.measures),
        )
        rows: list[tuple[Cell, ...]] = [(*leaf[:4], *leaf.sizes) for leaf in self.leaves]
        rows.append(("", "total", "", "", *(measure.total for measure in self.measures)))
        table = Table(columns, tuple(rows), self.title, total=True, optional=("part",))
        return (table, *([Paragraph(self.rest, "note")] if self.rest else []))


def fewer(treemap: Treemap, most: int) -> Treemap:
    """The ``most`` largest leaves by any measure in their order; the others of each component are
    one, so that all sums stay."""
    leaves = treemap.leaves
    if len(leaves) <= most:
        return treemap
    totals = [sum(leaf.sizes[i] or 0 for leaf in leaves) or 1 for i in range(len(leaves[0].sizes))]

    def weight(at: int) -> float:
        sizes = zip(leaves[at].sizes, totals, strict=True)
        return max((size or 0) / total for size, total in sizes)

    chosen = set(sorted(range(len(leaves)), key=weight, reverse=True)[:most])
    chosen_leaves = [leaf for i, leaf in enumerate(leaves) if i in chosen]
    others: dict[tuple[str, str], list[Leaf]] = {}
    for i, leaf in enumerate(leaves):
        if i not in chosen:
            others.setdefault(leaf[:2], []).append(leaf)
    for (part, component), group in others.items():
        sizes = tuple(
            None if any(s is None for s in column) else sum(s or 0 for s in column)
            for column in zip(*(leaf.sizes for leaf in group), strict=True)
        )
        chosen_leaves.append(Leaf(part, component, "", f"{len(group):,} smaller", sizes))
    left = len(leaves) - len(chosen)
    text = f"the {left:,} smallest areas are one for each component"
    return replace(treemap, leaves=tuple(chosen_leaves), rest=text)


class Stretch(NamedTuple):
    """Equal layers: which, and what one of them holds: sizes by component, the whole, and bytes of
    the cache; None where unknown."""

    layers: tuple[int, ...]
    title: str
    components: Mapping[str, int]
    parameters: int | None
    nbytes: int | None
    cache: int | None = None


@dataclass(frozen=True)
class Strips(Picture):
    """Lists of layers, side by side: (name of the list, its kinds of layers). ``unit`` is what the
    sizes of components are: bytes, or parameters where bytes are not known."""

    stacks: tuple[tuple[str, tuple[Stretch, ...]], ...] = field(hash=False)
    unit: str = "bytes"

    def in_text(self) -> tuple[Block, ...]:
        columns = (
            Column("stack", "layers of"),
            Column("layers", "which"),
            Column("count", "how many", "int"),
            Column("parameters", "parameters of one", "int"),
            Column("nbytes", "bytes of one", "int"),
            Column("cache", "cache of one", "int"),
            Column("bar", "", "bar"),
        )
        most = max((_total(s) for _, stack in self.stacks for s in stack), default=0) or 1
        rows = tuple(
            (
                name,
                s.title,
                len(s.layers),
                s.parameters,
                s.nbytes,
                s.cache or "",
                tuple((part, size / most) for part, size in s.components.items()),
            )
            for name, stack in self.stacks
            for s in stack
        )
        return (Table(columns, rows, optional=("bar", "cache")),)


def _total(stretch: Stretch) -> int:
    return sum(stretch.components.values())


@dataclass(frozen=True)
class MemoryCurves(Picture):
    """Weights, cache and workspace by context, under every engine, dtype of the cache and batch,
    with the lines of cards. A page begins with what was sized: ``context``, ``engine``, ``dtype``,
    ``batch`` and the device ``card``, where one was named."""

    curves: Curves
    context: int
    engine: str
    dtype: str
    batch: int
    card: str = ""

    def in_text(self) -> tuple[Block, ...]:
        from ..sizing.curves import value_at

        curves = self.curves.curves
        batch = self.curves.batches.index(self.batch)
        same = [c for c in curves if (c.engine, c.dtype) == (self.engine, self.dtype)]
        first = (same or curves)[0]
        weights = first.weights
        columns = (
            Column("context", "context", "int"),
            Column("weights", "weights"),
            Column("cache", "cache"),
            Column("workspace", "workspace, at most"),
            Column("total", "total"),
        )
        rows: list[tuple[Cell, ...]] = []
        for tokens in self.shown:
            cache = value_at(first.cache[batch], tokens)
            workspace = value_at(first.workspace[batch], tokens)
            total = None if weights is None else weights + cache + workspace
            sizes = (weights, cache, workspace, total)
            rows.append((tokens, *("unknown" if n is None else byte_size(n) for n in sizes)))
        title = f"Engine {first.engine}, {first.dtype}, batch {self.batch}"
        return (Table(columns, tuple(rows), title),)

    @property
    def shown(self) -> tuple[int, ...]:
        """Some contexts, the last among them."""
        doubling = [n for n in self.curves.contexts[:-1] if n >= 1024 and n & (n - 1) == 0]
        return (*doubling[-_SHOWN_CONTEXTS + 1 :], self.curves.contexts[-1])


def sized(size: int, unit: str) -> str:
    """A size as it stands on a tile: ``1.85 GB``, ``927 M``."""
    return byte_size(size) if unit == "bytes" else rounded_count(size)
