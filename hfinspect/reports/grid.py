"""Rows of many models: a table that a page's reader sorts and filters, with charts of its numbers.

Every value travels once, column by column, in the shortest of three forms; ten thousand rows of
seventy columns take less than 3 MB. The script shows only the rows that the window has room for.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..core.records import dataclass
from ..core.text import clean
from .document import Block, Cell, Column, Picture, Table

#: Bytes of all columns of up to ``MANY`` rows, and of a row beyond them; rows of one page.
MAX_DATA = 2_700_000
MANY = 10_000
MAX_ROWS = 100_000
#: Characters of a cell, and of those that a column's width shows.
MAX_CELL = 400
LEAST_WIDTH = 6
MOST_WIDTH = 44
#: Digits of a place in a list of values: what JSON and HTML leave as it is.
CODES = "".join(chr(code) for code in range(35, 127) if chr(code) not in "&'<>\\")
#: Rows for who has no scripts.
STATIC_ROWS = 200


class GridColumn(NamedTuple):
    """``kind`` is ``int64``, ``bool`` or ``string``. ``shown``: until its reader chooses others."""

    name: str
    kind: str
    meaning: str
    shown: bool


class Bar(NamedTuple):
    """Rows whose number is from ``low`` up to, not with, ``high``; None has no end, and a bar
    without both is of the rows that lack the number."""

    label: str
    low: int | None
    high: int | None

    def holds(self, value: Cell) -> bool:
        if not isinstance(value, int):
            return self.low is None and self.high is None
        if self.low is None and self.high is None:
            return False
        above = self.low is None or value >= self.low
        return above and (self.high is None or value < self.high)


class Chart(NamedTuple):
    """How many rows fall into each bar, by the numbers of one column (``yes`` is 1)."""

    title: str
    column: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Grid(Picture):
    """Columns in the order of the rows' cells."""

    columns: tuple[GridColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    charts: tuple[Chart, ...] = ()

    def in_text(self) -> tuple[Block, ...]:
        return (*map(self._counted, self.charts), self._table(self.rows))

    def static(self) -> tuple[Table, ...]:
        """The charts, and the first rows."""
        return (*map(self._counted, self.charts), self._table(self.rows[:STATIC_ROWS]))

    def _table(self, rows: Sequence[tuple[Cell, ...]]) -> Table:
        shown = [i for i, column in enumerate(self.columns) if column.shown]
        columns = tuple(
            Column(c.name, c.name, "int" if c.kind == "int64" else "text")
            for c in (self.columns[i] for i in shown)
        )
        cells = tuple(tuple("" if row[i] is None else row[i] for i in shown) for row in rows)
        return Table(columns, cells, optional=tuple(c.name for c in columns[1:]))

    def _counted(self, chart: Chart) -> Table:
        at = [column.name for column in self.columns].index(chart.column)
        values = [row[at] for row in self.rows]
        counts = [sum(bar.holds(value) for value in values) for bar in chart.bars]
        most = max(counts, default=0) or 1
        columns = (Column("range", ""), Column("models", "models", "int"), Column("bar", "", "bar"))
        bars = zip(chart.bars, counts, strict=True)
        rows = tuple((bar.label, n, (("mlp", n / most),)) for bar, n in bars)
        return Table(columns, rows, title=chart.title)


def data(grid: Grid) -> dict[str, Any]:
    """What the script draws from; the names of columns that a page has no room for are ``left``.

    Columns are taken in the order: those of charts and those shown, then the others.
    """
    rows = grid.rows[:MAX_ROWS]
    room = MAX_DATA if len(rows) <= MANY else MAX_DATA * len(rows) // MANY
    charted = {chart.column for chart in grid.charts}
    order = sorted(
        range(len(grid.columns)),
        key=lambda i: not (grid.columns[i].shown or grid.columns[i].name in charted),
    )
    columns: dict[int, dict[str, Any]] = {}
    left: list[str] = []
    for i in order:
        column = grid.columns[i]
        one = _column(column, [_cell(row[i]) for row in rows])
        size = len(json.dumps(one, separators=(",", ":")))
        if size > room:
            left.append(column.name)
            continue
        room -= size
        columns[i] = one
    names = {grid.columns[i].name for i in columns}
    charts = [[c.title, c.column, c.bars] for c in grid.charts if c.column in names]
    return {
        "rows": len(rows),
        "digits": CODES,
        "cut": len(grid.rows) - len(rows),
        "columns": [columns[i] for i in sorted(columns)],
        "left": left,
        "charts": charts,
    }


def _cell(value: Cell) -> Cell:
    """A value as JSON's readers keep it: numbers beyond a float's digits are text."""
    if isinstance(value, str):
        return clean(value, MAX_CELL)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**53:
        return str(value)
    return value


def _column(column: GridColumn, values: Sequence[Cell]) -> dict[str, Any]:
    """All equal: one value; few different: a list of them and a code of ``digits`` characters for
    each row, its place in the list; else every value."""
    head: dict[str, Any] = {
        "name": column.name,
        "kind": column.kind,
        "meaning": column.meaning,
        "width": _width(column, values),
        "shown": int(column.shown),
    }
    different = {(type(value), value): value for value in values}
    if len(different) <= 1:
        return {**head, "all": values[0] if values else None}
    digits = 1
    while len(CODES) ** digits < len(different):
        digits += 1
    places = {key: _code(at, digits) for at, key in enumerate(different)}
    codes = "".join(places[type(value), value] for value in values)
    short = {"list": list(different.values()), "digits": digits, "codes": codes}
    plain = {"values": list(values)}
    return {**head, **min((short, plain), key=lambda form: len(json.dumps(form)))}


def _code(place: int, digits: int) -> str:
    """A place as a number of so many digits to the base ``len(CODES)``, the last one first."""
    text = ""
    for _ in range(digits):
        place, digit = divmod(place, len(CODES))
        text += CODES[digit]
    return text


def _width(column: GridColumn, values: Iterable[Cell]) -> int:
    """Characters of the widest cell, as far as a column is wide."""
    widest = max((len(shown(value)) for value in values), default=0)
    return min(max(widest, len(column.name) + 2, LEAST_WIDTH), MOST_WIDTH)


def shown(value: Cell) -> str:
    """A cell as the page shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def drawn(grid: Grid, table: Callable[[Table], str]) -> Iterator[str]:
    """Places for the script, and tables (drawn by ``table``) for who has none."""
    yield '<div id="grid" hidden></div>\n<noscript>'
    for one in grid.static():
        yield table(one)
    more = len(grid.rows) - STATIC_ROWS
    if more > 0:
        yield f'<p class="note">{more:,} more rows are shown with scripts on</p>'
    yield "</noscript>\n"
