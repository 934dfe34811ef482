"""The terminal: aligned text, readable at 60 columns and in a pipe. ``tabulate`` draws the tables
that have characters of another width than one; it takes a sixth of the time of a small command."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from unicodedata import category, east_asian_width

from ..core.records import dataclass
from ..core.text import clean, clean_lines
from .column_fit import fitted, seen, seen_length, shortened
from .document import (
    NOT_WHOLE,
    Cell,
    Column,
    Document,
    Facts,
    Paragraph,
    Pieces,
    Preformatted,
    Table,
    TextBlock,
)

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_BAR = 10
#: Where the summary of a report begins, if the title is shorter; and the least space before it.
_SUMMARY_COLUMN = 41
_GAP = 3
#: Spaces between two columns, and what is added to a header: as tabulate has it.
_BETWEEN = 2
_HEADER_PADDING = 2
_STYLES = {
    "bold": "1",
    "dim": "2",
    "warning": "33",
    "error": "31",
    NOT_WHOLE: "31",
    "note": "36",
    "bar": "36",
}

#: One colour for each component, in every table and bar: of the 256 colours those that are easily
#: distinguished on dark and on light. Red and yellow are for errors and warnings.
_HUES = {
    "embedding": "38;5;75",
    "attention": "38;5;71",
    "mlp": "38;5;134",
    "router": "38;5;37",
    "ssm": "38;5;30",
    "conv": "38;5;137",
    "projector": "38;5;98",
    "norm": "38;5;246",
    "head": "38;5;33",
    "other": "38;5;243",
}

#: Hidden columns that are named; a scan has some fifty.
MAX_NAMED = 6
#: Lines of text in a pipe, where there is no terminal to ask. Tables have no limit there.
PIPE_WIDTH = 80
#: Longer lines of text are harder to read, not easier. Tables take what the terminal has.
MAX_TEXT_WIDTH = 120


@dataclass(frozen=True)
class Canvas:
    """Where text goes: columns, whether colour is wanted, whether block characters can be shown.

    ``unlimited``: a pipe or a file, where no column of a table is left out; text is still broken
    into lines of ``width``. ``cuts``: a terminal, where names that have no room are cut in the
    middle."""

    width: int = 80
    color: bool = False
    unicode: bool = True
    unlimited: bool = False
    cuts: bool = False

    def style(self, text: str, style: str) -> str:
        """``text`` in a style, or in the colour of a component."""
        code = _STYLES.get(style) or _HUES.get(style)
        return f"\033[{code}m{text}\033[0m" if self.color and text and code else text

    def overflows(self, line: str) -> bool:
        """Whether ``line``, without colours, is longer than the terminal is wide."""
        return seen_length(line) > self.width

    @property
    def text_width(self) -> int:
        """Where lines of text end."""
        return min(self.width, MAX_TEXT_WIDTH)


def render(document: Document, canvas: Canvas | None = None) -> str:
    """The document as text, without a final newline. Columns that had no room are named in the
    last line."""
    canvas = canvas or Canvas()
    blocks = document.in_text
    shapes = _shapes(tables := [block for block in blocks if isinstance(block, Table)], canvas)
    parts = [_title(document, canvas)] if document.title else []
    parts.extend(
        _table(block, canvas, shapes[id(block)])
        if isinstance(block, Table)
        else _block(block, canvas)
        for block in blocks
    )
    before = [None] if document.title else []
    lines = _spaced(parts, [*before, *blocks])
    left = _left_out(document, tables, canvas, shapes)
    return "\n".join([*lines, "", left] if left else lines)


def _title(document: Document, canvas: Canvas) -> str:
    """The title, and the summary right of it or, where there is no room, below it."""
    title = clean(document.title)
    summary = clean(document.summary)
    title = shortened(title, canvas.width) if canvas.cuts else title
    column = max(len(title) + _GAP, _SUMMARY_COLUMN)
    column = min(column, max(canvas.text_width - len(summary), len(title) + _GAP))
    if not summary or column + len(summary) > canvas.text_width:
        parts = [title, *([_wrapped(summary, canvas)] if summary else [])]
        return "\n".join(canvas.style(part, "bold") for part in parts)
    return canvas.style(f"{title:{column}}{summary}", "bold")


def _left_out(
    document: Document, tables: Sequence[Table], canvas: Canvas, shapes: "Mapping[int, _TableShape]"
) -> str:
    """Which columns had no room, and where they are."""
    gone = [
        (table, column)
        for table in tables
        for column in table.columns
        if column.title and column.name in shapes[id(table)].too_wide
    ]
    if not gone:
        return ""
    main = document.main or tables[0]
    in_csv = {column.name for column in main.columns}
    everything = all(table is main or column.name in in_csv for table, column in gone)
    names = list(dict.fromkeys(_named(table, column, tables, gone) for table, column in gone))
    several = len(names) > 1
    where = "-f csv shows " if everything else "pipe to cat to see "
    where += "them" if several else "it"
    count = f"{len(names)} columns" if several else "1 column"
    more = len(names) - MAX_NAMED
    shown = [*names[:MAX_NAMED], f"{more} more"] if more > 1 else names
    text = f"{count} hidden ({', '.join(shown)}); {where}"
    return canvas.style(_wrapped(text, canvas), "dim")


def _named(
    table: Table, column: Column, tables: Sequence[Table], gone: Sequence[tuple[Table, Column]]
) -> str:
    """A column's title; with its table's where another table still shows such a column."""
    holders = sum(any(c.title == column.title for c in other.columns) for other in tables)
    alone = holders == sum(c.title == column.title for _, c in gone)
    where = table.title.partition(":")[0]
    return clean(column.title if alone or not where else f"{column.title} ({where})")


def _wrapped(text: str, canvas: Canvas, indent: str = "") -> str:
    return textwrap.fill(
        text,
        canvas.text_width,
        subsequent_indent=indent,
        break_long_words=canvas.cuts,
        break_on_hyphens=False,
    )


def _spaced(parts: Sequence[str], kinds: Sequence[TextBlock | None]) -> list[str]:
    """An empty line around tables, none between facts and paragraphs; None is the title."""
    lines: list[str] = []
    for i, part in enumerate(parts):
        block = kinds[i]
        before = kinds[i - 1] if i else None
        if i and (
            isinstance(block, (Table, Preformatted)) or isinstance(before, (Table, Preformatted))
        ):
            lines.append("")
        if part:
            lines.append(part)
    return lines


def _block(block: Facts | Paragraph | Preformatted, canvas: Canvas) -> str:
    if isinstance(block, Facts):
        return _facts(block, canvas)
    if isinstance(block, Preformatted):
        text = clean_lines(block.text)
        if canvas.cuts and block.language == "text":
            return "\n".join(clean(line, canvas.width) for line in text.split("\n"))
        if canvas.cuts and not block.language:
            return "\n".join(_wrapped(line, canvas, "  ") for line in text.split("\n"))
        return text
    label = f"{block.severity}: " if block.severity else ""
    text = _wrapped(label + clean(block.text, 2000), canvas, "  " if label else "")
    return canvas.style(text, block.severity) if block.severity in _STYLES else text


def _facts(block: Facts, canvas: Canvas) -> str:
    """Labels in one column, texts in another; a label that takes half the line stands alone."""
    items = [(clean(label), text) for label, text in block.items]
    pad = max((len(label) for label, _ in items), default=0) + 2
    alone = pad > canvas.text_width // 2
    indent = 2 if alone else pad
    lines = []
    for label, text in items:
        filled = textwrap.wrap(
            clean(text, 2000),
            max(canvas.text_width - indent, 20),
            break_long_words=canvas.cuts,
            break_on_hyphens=False,
        ) or [""]
        if alone:
            lines += [canvas.style(label, "dim"), " " * indent + filled[0]]
        else:
            lines.append(canvas.style(label.ljust(pad), "dim") + filled[0])
        lines += [" " * indent + more for more in filled[1:]]
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")  # it was for wrapping alone


@dataclass(frozen=True)
class _TableShape:
    """Columns of a table that say nothing, those that have no room, and how wide it is drawn."""

    idle: frozenset[str]
    too_wide: frozenset[str]
    width: int = 0

    @property
    def dropped(self) -> frozenset[str]:
        return self.idle | self.too_wide


def _shapes(tables: Sequence[Table], canvas: Canvas) -> dict[int, _TableShape]:
    """The shape of every table, by identity; that of a group's tables is found together."""
    groups: dict[object, list[Table]] = {}
    for table in tables:
        groups.setdefault(table.group or id(table), []).append(table)
    return {key: shape for group in groups.values() for key, shape in _together(group, canvas)}


def _together(tables: Sequence[Table], canvas: Canvas) -> Iterator[tuple[int, _TableShape]]:
    busy = {name for table in tables for name in table.optional if name not in table.idle}
    optional = dict.fromkeys(name for table in tables for name in table.optional)
    idle = frozenset(name for name in optional if name not in busy)
    gone = frozenset(name for table in tables for name in _too_wide(table, canvas, idle))
    limit = MAX_TEXT_WIDTH if canvas.unlimited else canvas.width
    plain = replace(canvas, color=False)
    widths = [_width(table, plain, idle | gone) for table in tables]
    common = max((width for width in widths if width <= limit), default=0)
    for table in tables:
        yield id(table), _TableShape(idle, gone, common if table.group else 0)


def _width(table: Table, canvas: Canvas, dropped: frozenset[str]) -> int:
    shown = [width for name, width in _widths(table, canvas).items() if name not in dropped]
    return sum(shown) + _BETWEEN * (len(shown) - 1)


def _table(table: Table, canvas: Canvas, shape: _TableShape) -> str:
    lines = _drawn(table, canvas, shape)
    heading = clean(table.title)
    title = [canvas.style(_wrapped(heading, canvas) if canvas.cuts else heading, "bold")]
    title = title if table.title else []
    if canvas.cuts and any(map(canvas.overflows, lines)):
        return "\n".join([*title, *_stacked(table, canvas, shape)])
    if lines:
        lines[0] = canvas.style(lines[0], "bold")
    if table.total and len(lines) > 2:
        lines.insert(-1, lines[1])
        lines[-1] = canvas.style(lines[-1], "bold")
    return "\n".join([*title, *lines])


def _stacked(table: Table, canvas: Canvas, shape: _TableShape) -> Iterator[str]:
    """Each row below the other: its first cell, then a line for every other one. For terminals
    where even the numbers have no room next to each other."""
    first, *others = (
        i
        for i, column in enumerate(table.columns)
        if column.name not in shape.dropped and column.kind != "bar"
    )
    pad = max((len(clean(table.columns[i].title)) for i in others), default=0) + 2
    room = max(canvas.width - 2 - pad, 1)
    for row in table.rows:
        name = shown(row[first], table.columns[first], replace(canvas, color=False))
        column = table.columns[first]
        label = f"{clean(column.title)} " if column.kind in ("int", "share") else ""
        yield canvas.style(shortened(label + name, canvas.width), "bold")
        for i in others:
            text = shown(row[i], table.columns[i], replace(canvas, color=False)).strip()
            lines = textwrap.wrap(text, room, break_on_hyphens=False)
            title = clean(table.columns[i].title)
            for at, line in enumerate(lines):
                yield f"  {'' if at else title:{pad}}{line}"


def _too_wide(table: Table, canvas: Canvas, idle: frozenset[str]) -> tuple[str, ...]:
    """The optional columns that have no room, last first."""
    left = [name for name in table.optional if name not in idle]
    if canvas.unlimited or not left:
        return ()
    widths = _widths(table, replace(canvas, color=False))
    gone: list[str] = []
    while left:
        shown = [width for name, width in widths.items() if name not in (*idle, *gone)]
        if sum(shown) + _BETWEEN * (len(shown) - 1) <= canvas.width:
            break
        gone.append(left.pop())
    return tuple(gone)


def _widths(table: Table, canvas: Canvas) -> dict[str, int]:
    """Characters of each column, as it will be drawn."""
    return {
        column.name: max(
            len(clean(column.title)) + _HEADER_PADDING,
            *(len(shown(row[i], column, canvas)) for row in table.rows),
            0,
        )
        for i, column in enumerate(table.columns)
    }


def _drawn(table: Table, canvas: Canvas, shape: _TableShape) -> list[str]:
    columns_shown = [
        i for i, column in enumerate(table.columns) if column.name not in shape.dropped
    ]
    columns = [table.columns[i] for i in columns_shown]
    rows = [[shown(row[i], table.columns[i], canvas) for i in columns_shown] for row in table.rows]
    headers = [clean(column.title) for column in columns]
    plain = replace(canvas, color=False)
    room = canvas.width - _BETWEEN * (len(columns_shown) - 1)
    cut = headers, rows
    if canvas.cuts:
        fixed = [column.kind not in ("text", "math") for column in columns]
        cut = fitted(headers, rows, fixed, room)
    missing = shape.width - _width(table, plain, shape.dropped)
    if missing > 0 and headers:  # the first column takes the room
        first = _widths(table, plain)[columns[0].name] - _HEADER_PADDING
        cut[0][0] = cut[0][0].ljust(first + missing)
    lines = drawn_lines(*cut, columns)
    if canvas.cuts and any(map(canvas.overflows, lines)):
        room = canvas.width - (len(columns_shown) - 1)
        return _aligned(*fitted(headers, rows, fixed, room, padding=0), columns, between=1)
    return lines


def drawn_lines(
    headers: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[Column]
) -> list[str]:
    """The lines of a table: header, rule, rows."""
    if headers and all(_is_narrow(seen(cell)) for row in (headers, *rows) for cell in row):
        return _aligned(headers, rows, columns, _BETWEEN, _HEADER_PADDING)
    from tabulate import tabulate

    text = tabulate(
        rows,
        headers=headers,
        tablefmt="simple",
        disable_numparse=True,
        colalign=[_align(column) for column in columns] if rows else None,
        preserve_whitespace=True,
    )
    return [line.rstrip() for line in text.split("\n")]


def _is_narrow(text: str) -> bool:
    """Whether it is one line, and each of its characters that is seen takes one column."""
    return text.isprintable() if text.isascii() else not any(map(_is_odd, text))


def _is_odd(character: str) -> bool:
    """Whether a character is none that is seen, or takes two columns."""
    odd = category(character) in ("Mn", "Me", "Cf", "Cc", "Zl", "Zp")
    return odd or east_asian_width(character) in ("W", "F")


def _aligned(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    columns: Sequence[Column],
    between: int,
    padding: int = 0,
) -> list[str]:
    """The lines of a table of narrow characters, ``between`` spaces from column to column; a
    column is at least by ``padding`` wider than its header."""
    widths = [
        max(seen_length(header) + padding, *map(seen_length, cells), 0)
        for header, *cells in zip(headers, *rows, strict=True)
    ]
    rule = ["-" * width for width in widths]
    gap = " " * between
    return [
        gap.join(
            cell.rjust(room) if _align(column) == "right" else cell.ljust(room)
            for cell, column, room in zip(
                line,
                columns,
                (w + len(c) - seen_length(c) for w, c in zip(widths, line, strict=True)),
                strict=True,
            )
        ).rstrip()
        for line in (headers, rule, *rows)
    ]


def _align(column: Column) -> str:
    return "right" if column.kind in ("int", "share") else "left"


def shown(cell: Cell, column: Column, canvas: Canvas) -> str:
    """One cell as text; an unknown number is shown as such, an absent text as nothing."""
    if cell is None:
        return "unknown" if column.kind == "int" else ""
    if column.kind == "int" and isinstance(cell, int):
        return f"{cell:,}"
    if column.kind == "share" and isinstance(cell, (int, float)):
        return f"{cell * 100:.1f}%"
    if column.kind == "bar" and isinstance(cell, (int, float, tuple)):
        return bar(cell, canvas)
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return canvas.style(clean(str(cell)), str(cell) if column.kind == "component" else "")


def bar(share: float | Pieces, canvas: Canvas) -> str:
    """A bar of at most ten characters, in eighths of one where the terminal can show them; in
    pieces, each in its colour, where there is colour."""
    if not isinstance(share, tuple):
        return canvas.style(_plain_bar(share, canvas), "bar")
    total = sum(part for _, part in share)
    if not canvas.color:
        return _plain_bar(total, canvas)
    text = _plain_bar(total, canvas)
    owners = [_owner(share, i) for i in range(len(text))]
    runs = [(name, "".join(text[i] for i in places)) for name, places in _runs(owners)]
    return "".join(canvas.style(run, name) for name, run in runs)


def _owner(shares: Pieces, place: int) -> str:
    """The piece that takes most of one character of a bar."""
    start = 0.0
    best = ""
    most = -1.0
    for name, share in shares:
        end = start + share * _BAR
        covered = min(end, place + 1) - max(start, place)
        if share > 0 and covered > most:
            best = name
            most = covered
        start = end
    return best


def _runs(names: Sequence[str]) -> Iterator[tuple[str, range]]:
    """Equal neighbours: the name, and where they are."""
    start = 0
    for i in range(1, len(names) + 1):
        if i == len(names) or names[i] != names[start]:
            yield names[start], range(start, i)
            start = i


def _plain_bar(share: float, canvas: Canvas) -> str:
    share = min(max(share, 0.0), 1.0)
    if not canvas.unicode:
        return "#" * round(share * _BAR)
    eighths = round(share * _BAR * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()
