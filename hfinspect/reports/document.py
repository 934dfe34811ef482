"""Document: what every text format has in common, before it is drawn.

A document is a sequence of blocks: facts (label and text), tables, paragraphs, and pictures, which
have a text form for the formats that draw none.  ``main`` names the table that formats with room
for only one (csv) take.
"""

from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeAlias

from ..core.records import dataclass

#: A bar in pieces: (component, share of 1), each in the colour of its component.
Pieces = tuple[tuple[str, float], ...]

Cell = str | int | float | bool | Pieces | None


ColumnKind: TypeAlias = Literal["text", "int", "share", "bar", "component", "math"]


@dataclass(frozen=True)
class Column:
    """``name`` is the machine's spelling (csv header), ``title`` the reader's. ``kind`` says how a
    cell is shown: ``int`` with thousands separators, ``share`` of 1 in percent, ``bar`` of 1 (or in
    pieces), ``component`` in the colour of the component that it names, ``math`` as a formula where
    a format can set one."""

    name: str
    title: str
    kind: ColumnKind = "text"


@dataclass(frozen=True)
class Table:
    """Rows under columns. ``total`` draws a line above the last row. ``optional`` columns are left
    out where they are ``idle`` and, last first, where the table would be wider than the terminal,
    which the renderer then says. A column that the user named is never optional. Tables of one
    ``group`` leave out the same columns, and are equally wide where the terminal has room.
    ``tools``: a page lets its reader filter, sort and copy the rows.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    total: bool = False
    optional: tuple[str, ...] = ()
    group: str = ""
    tools: bool = False

    @property
    def idle(self) -> list[str]:
        """Optional columns in which no row says anything: all unknown, empty or nothing."""
        names = [column.name for column in self.columns]
        return [
            name
            for name in self.optional
            if name in names and not any(row[names.index(name)] for row in self.rows)
        ]


@dataclass(frozen=True)
class Facts:
    """Labelled lines."""

    items: tuple[tuple[str, str], ...]


#: What stands before a problem that stops a loader, in the colour of errors.
NOT_WHOLE: Final = "not whole"


@dataclass(frozen=True)
class Paragraph:
    """A line of text; ``severity`` is empty for plain text, else note, warning, error or
    ``NOT_WHOLE``."""

    text: str
    severity: str = ""


@dataclass(frozen=True)
class Preformatted:
    """Text whose line breaks and spaces matter (trees, formulas)."""

    text: str
    language: str = ""


class Picture:
    """A block that only some formats draw (html, svg); for the others it has a text form."""

    def in_text(self) -> "tuple[Block, ...]":
        """The same, said in blocks that every format has."""
        raise NotImplementedError


TextBlock = Facts | Table | Paragraph | Preformatted
Block = TextBlock | Picture


@dataclass(frozen=True)
class Document:
    """A title, blocks in reading order, and the table for formats that take just one. ``summary``
    stands right of the title: the answer in a few words."""

    title: str
    blocks: tuple[Block, ...]
    main: Table | None = None
    summary: str = ""

    @property
    def in_text(self) -> tuple[TextBlock, ...]:
        """The blocks, those that are pictures in their text form."""
        return tuple(_in_text(self.blocks))


def _in_text(blocks: Iterable[Block]) -> Iterator[TextBlock]:
    for block in blocks:
        if isinstance(block, Picture):
            yield from _in_text(block.in_text())
        else:
            yield block
