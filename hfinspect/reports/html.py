"""HTML for notebooks: escaped text in plain elements, without scripts, styles or addresses."""

from __future__ import annotations

from html import escape

from ..core.text import clean, clean_lines
from .document import Block, Document, Facts, Paragraph, Preformatted, Table
from .table import Canvas, shown

#: Rows of a table; the rest is counted.
MAX_ROWS = 40
#: Characters of a cell or a sentence.
MAX_TEXT = 400
#: Characters of a whole document: blocks after that are counted.
MAX_DOCUMENT = 18_000


def render(document: Document) -> str:
    """The document as one ``div``, below 20,000 characters."""
    parts = [f"<h4>{_text(document.title)}</h4>"] if document.title else []
    parts += [f"<p><b>{_text(document.summary)}</b></p>"] if document.summary else []
    size = sum(map(len, parts))
    for at, block in enumerate(document.blocks):
        text = _block(block)
        size += len(text)
        if size > MAX_DOCUMENT:
            left = len(document.blocks) - at
            parts.append(f"<p>{left} more parts of this report: to_markdown() has them</p>")
            break
        parts.append(text)
    return "<div>" + "".join(parts) + "</div>"


def _text(text: str) -> str:
    """Foreign text that stays text."""
    return escape(clean(text, MAX_TEXT), quote=True)


def _block(block: Block) -> str:
    if isinstance(block, Facts):
        rows = "".join(
            f"<tr><th>{_text(label)}</th><td>{_text(text)}</td></tr>" for label, text in block.items
        )
        return f"<table>{rows}</table>"
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Preformatted):
        return f"<pre>{escape(clean_lines(block.text), quote=True)}</pre>"
    return _paragraph(block)


def _paragraph(block: Paragraph) -> str:
    severity = f"<b>{_text(block.severity)}</b>: " if block.severity else ""
    return f"<p>{severity}{_text(block.text)}</p>"


def _table(table: Table) -> str:
    idle = table.idle
    kept = [i for i, c in enumerate(table.columns) if c.kind != "bar" and c.name not in idle]
    head = "".join(f"<th>{_text(table.columns[i].title)}</th>" for i in kept)
    # The last row of a table of sums is the total: it stays.
    cut = len(table.rows) > MAX_ROWS
    last = table.rows[-1:] if cut and table.total else ()
    rows = (*table.rows[:MAX_ROWS], *last)
    canvas = Canvas()
    body = "".join(
        "<tr>" + "".join(
            f"<td>{_text(shown(row[i], table.columns[i], canvas))}</td>" for i in kept
        ) + "</tr>"
        for row in rows
    )  # fmt: skip
    left = len(table.rows) - len(rows)
    more = f"<p>{left:,} more rows</p>" if left else ""
    title = f"<p><b>{_text(table.title)}</b></p>" if table.title else ""
    return f"{title}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
