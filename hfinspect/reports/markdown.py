"""GitHub-flavoured Markdown."""

import re

from ..core.text import clean, clean_lines
from .document import Column, Document, Facts, Paragraph, Preformatted, Table, TextBlock
from .table import Canvas, shown

#: What means something inside a line: emphasis, code, links, entities, formulas, cells.
_ESCAPED = str.maketrans({c: f"\\{c}" for c in "\\|*_`<>[]~&$"})
#: What means something at the beginning of one: headings, quotes, lists, rules.
_OPENING = re.compile(r"\s*(?:\d+[.)]|[#+=-])")
_FENCE = re.compile("`{3,}")


def render(document: Document) -> str:
    """The document as Markdown."""
    parts = [f"# {escaped(document.title)}"] if document.title else []
    parts += [f"**{escaped(document.summary)}**"] if document.summary else []
    parts += [_block(block) for block in document.in_text]
    return "\n\n".join(part for part in parts if part)


def escaped(text: str) -> str:
    """Foreign text that stays text: no markup, no line breaks, no control characters."""
    return clean(text, 2000).translate(_ESCAPED)


def _fact(label: str, text: str) -> str:
    """A fact without a label goes on with the one above it."""
    return f"- **{escaped(label)}**: {escaped(text)}" if label else f"  - {escaped(text)}"


def _block(block: TextBlock) -> str:
    if isinstance(block, Facts):
        return "\n".join(_fact(label, text) for label, text in block.items)
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Preformatted):
        return _fenced(block)
    return _paragraph(block)


def _paragraph(block: Paragraph) -> str:
    text = escaped(block.text)
    if block.severity:
        return f"**{block.severity}**: {text}"
    opening = _OPENING.match(text)
    if opening is None:
        return text
    mark = opening.end() - 1
    return f"{text[:mark]}\\{text[mark:]}"


def _fenced(block: Preformatted) -> str:
    """Between fences longer than any in the text."""
    text = clean_lines(block.text)
    longest = max(map(len, _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{block.language}\n{text}\n{fence}"


def _table(table: Table) -> str:
    idle = table.idle
    columns_shown = [
        i for i, c in enumerate(table.columns) if c.kind != "bar" and c.name not in idle
    ]
    columns = [table.columns[i] for i in columns_shown]
    canvas = Canvas()
    lines = [
        "| " + " | ".join(escaped(column.title) for column in columns) + " |",
        "|" + "|".join(_rule(column) for column in columns) + "|",
    ]
    for row in table.rows:
        cells = [_cell(shown(row[i], table.columns[i], canvas)) for i in columns_shown]
        lines.append("| " + " | ".join(cells) + " |")
    title = [f"**{escaped(table.title)}**", ""] if table.title else []
    return "\n".join([*title, *lines])


def _cell(text: str) -> str:
    """A cell that keeps the spaces it begins with: they show what is inside what."""
    inner = text.lstrip(" ")
    return "&nbsp;" * (len(text) - len(inner)) + escaped(inner)


def _rule(column: Column) -> str:
    return " ---: " if column.kind in ("int", "share") else " --- "
