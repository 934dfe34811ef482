"""GitHub-flavoured Markdown."""

from __future__ import annotations

from ..core.text import clean
from .document import Block, Column, Document, Facts, Preformatted, Table
from .table import Canvas, shown

_ESCAPED = str.maketrans({c: f"\\{c}" for c in "|*_`<>[]"})


def render(document: Document) -> str:
    """The document as Markdown."""
    parts = [f"# {escaped(document.title)}"] if document.title else []
    parts += [_block(block) for block in document.blocks]
    return "\n\n".join(part for part in parts if part)


def escaped(text: str) -> str:
    """Foreign text that stays text: no markup, no line breaks, no control characters."""
    return clean(text, 2000).translate(_ESCAPED)


def _block(block: Block) -> str:
    if isinstance(block, Facts):
        return "\n".join(f"- **{escaped(label)}**: {escaped(text)}" for label, text in block.items)
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Preformatted):
        return f"```{block.language}\n{block.text}\n```"
    label = f"**{block.severity}**: " if block.severity else ""
    return label + escaped(block.text)


def _table(table: Table) -> str:
    kept = [i for i, column in enumerate(table.columns) if column.kind != "bar"]
    columns = [table.columns[i] for i in kept]
    canvas = Canvas()
    lines = [
        "| " + " | ".join(escaped(column.title) for column in columns) + " |",
        "|" + "|".join(_rule(column) for column in columns) + "|",
    ]
    for row in table.rows:
        cells = [escaped(shown(row[i], table.columns[i], canvas)) for i in kept]
        lines.append("| " + " | ".join(cells) + " |")
    title = [f"**{escaped(table.title)}**", ""] if table.title else []
    return "\n".join([*title, *lines])


def _rule(column: Column) -> str:
    return " ---: " if column.kind in ("int", "share") else " --- "
