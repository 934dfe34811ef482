"""What a notebook shows of a result: head and bars as one element, its tables folded away.

No script and no address; a style for this element alone. What is not to be seen where styles and
pictures are taken out is said in text as well.
"""

from html import escape

from ..core.text import clean, clean_lines
from .document import Block, Cell, Column, Document, Facts, Paragraph, Preformatted, Table
from .drawings import StackedBar
from .palette import INKS, ink_of
from .table import Canvas, shown

#: Rows of a table; the rest is counted.
MAX_ROWS = 40
#: Characters of a cell or a sentence.
MAX_TEXT = 400
#: Bytes of all blocks: those after that are counted.
MAX_DOCUMENT = 18_000

_STYLE = (
    ".hfinspect{max-width:60rem;line-height:1.4}.hfinspect h4{margin:0 0 .2rem}"
    ".hfinspect p{margin:.2rem 0 .5rem}"
    "div.hfinspect table{border-collapse:collapse;margin:.3rem 0 .6rem;font-size:.92em}"
    "div.hfinspect table th,div.hfinspect table td{text-align:left;vertical-align:top;"
    "padding:.1rem .8rem .1rem 0;background:none}"
    "div.hfinspect table tr{background:none}"
    "div.hfinspect table .n{text-align:right;font-variant-numeric:tabular-nums}"
    ".hfinspect th{font-weight:600;opacity:.75}.hfinspect summary{cursor:pointer}"
    ".hfinspect ul{list-style:none;padding:0;margin:.3rem 0 .6rem}"
    ".hfinspect li{display:inline-block;margin-right:1.2rem}"
    ".hfinspect .stack{display:block;border-radius:4px;max-width:100%}"
)

#: Of text: notebooks that are not trusted lose the style sheet, and JupyterLab's own aligns every
#: cell to the right; it keeps what an element says itself.
_LEFT = ' style="text-align:left"'


def render(document: Document) -> str:
    """The document as one ``div``, below 20,000 bytes."""
    parts = [f"<h4>{_text(document.title)}</h4>"] if document.title else []
    parts += [f"<p><b>{_text(document.summary)}</b></p>"] if document.summary else []
    size = sum(len(part.encode()) for part in parts)
    for at, block in enumerate(document.blocks):
        text = _block(block)
        size += len(text.encode())
        if size > MAX_DOCUMENT:
            left = len(document.blocks) - at
            parts.append(f"<p>{left} more parts of this report: to_markdown() has them</p>")
            break
        parts.append(text)
    return f'<div class="hfinspect"><style>{_STYLE}</style>{"".join(parts)}</div>'


def _text(text: str) -> str:
    """Foreign text that stays text."""
    return escape(clean(text, MAX_TEXT), quote=True)


def _block(block: Block) -> str:
    if isinstance(block, Facts):
        rows = "".join(
            f"<tr><th{_LEFT}>{_text(label)}</th><td{_LEFT}>{_text(text)}</td></tr>"
            for label, text in block.items
        )
        return f"<table>{rows}</table>"
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Preformatted):
        return f"<pre>{escape(clean_lines(block.text), quote=True)}</pre>"
    if isinstance(block, Paragraph):
        severity = f"<b>{_text(block.severity)}</b>: " if block.severity else ""
        return f"<p>{severity}{_text(block.text)}</p>"
    if isinstance(block, StackedBar):
        return _stacked(block)
    return "".join(map(_block, block.in_text()))


def _fill(component: str) -> str:
    return INKS[ink_of(component)].light


def _pieces(shares: tuple[tuple[str, float], ...], width: int, height: int, kind: str = "") -> str:
    rects = []
    left = 0.0
    for name, share in shares:
        size = width * min(max(share, 0.0), 1.0)
        if size >= 0.2:
            rects.append(
                f'<rect x="{left:.3g}" width="{size:.3g}" height="{height}" fill="{_fill(name)}"/>'
            )
        left += size
    return f'<svg{kind} width="{width}" height="{height}">{"".join(rects)}</svg>' if rects else ""


def _stacked(block: StackedBar) -> str:
    bar = _pieces(tuple((n, share) for n, share, _ in block.shares), 620, 22, ' class="stack"')
    legend = "".join(
        f'<li><svg width="10" height="10"><rect width="10" height="10" fill="{_fill(name)}"/></svg>'
        f" {_text(name)} <b>{_text(text)}</b> {100 * share:.1f}%</li>"
        for name, share, text in block.shares
    )
    return f"{bar}<ul>{legend}</ul>"


def _table(table: Table) -> str:
    """Folded away under its caption, but for one that has bars and for an audit's findings."""
    idle = table.idle
    shown = [i for i, column in enumerate(table.columns) if column.name not in idle]
    columns = [table.columns[i] for i in shown]
    head = "".join(f"<th{_class(column)}>{_text(column.title)}</th>" for column in columns)
    # The last row of a table of sums is the total: it stays.
    cut = len(table.rows) > MAX_ROWS
    last = table.rows[-1:] if cut and table.total else ()
    rows = (*table.rows[:MAX_ROWS], *last)
    body = "".join(
        "<tr>" + "".join(_cell(row[i], table.columns[i]) for i in shown) + "</tr>" for row in rows
    )
    left = len(table.rows) - len(rows)
    more = f"<p>{left:,} more rows</p>" if left else ""
    drawn = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
    if any(column.kind == "bar" for column in columns):
        title = f"<p><b>{_text(table.title)}</b></p>" if table.title else ""
        return title + drawn
    rows_of = f"{len(table.rows):,} row{'' if len(table.rows) == 1 else 's'}"
    title = _text(table.title) or f"table of {rows_of}"
    is_open = " open" if any(column.name == "severity" for column in table.columns) else ""
    return f"<details{is_open}><summary>{title}</summary>{drawn}</details>"


def _class(column: Column) -> str:
    return ' class="n"' if column.kind in ("int", "share") else _LEFT


def _cell(cell: Cell, column: Column) -> str:
    if column.kind == "bar":
        plain = (("other", float(cell)),) if isinstance(cell, (int, float)) else ()
        shares = cell if isinstance(cell, tuple) else plain
        return f"<td>{_pieces(shares, 100, 10)}</td>"
    text = shown(cell, column, Canvas())
    return f"<td{_class(column)}>{_text(text)}</td>"
