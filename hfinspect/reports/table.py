"""The terminal: aligned text, readable at 60 columns and in a pipe. ``tabulate`` draws tables."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from ..core.text import clean, clean_lines
from .document import Block, Cell, Column, Document, Facts, Preformatted, Table

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_BAR = 10
_STYLES = {"bold": "1", "dim": "2", "warning": "33", "error": "31", "note": "36", "bar": "36"}


@dataclass(frozen=True)
class Canvas:
    """Where text goes: columns, whether colour is wanted, whether block characters can be shown."""

    width: int = 80
    color: bool = False
    unicode: bool = True

    def style(self, text: str, style: str) -> str:
        return f"\033[{_STYLES[style]}m{text}\033[0m" if self.color and text else text


def render(document: Document, canvas: Canvas | None = None) -> str:
    """The document as text, without a final newline."""
    canvas = canvas or Canvas()
    parts = [canvas.style(clean(document.title), "bold")] if document.title else []
    parts.extend(_block(block, canvas) for block in document.blocks)
    before = [None] if document.title else []
    return "\n".join(_spaced(parts, [*before, *document.blocks]))


def _spaced(parts: Sequence[str], kinds: Sequence[Block | None]) -> list[str]:
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


def _block(block: Block, canvas: Canvas) -> str:
    if isinstance(block, Facts):
        return _facts(block, canvas)
    if isinstance(block, Table):
        return _table(block, canvas)
    if isinstance(block, Preformatted):
        return clean_lines(block.text)
    label = f"{block.severity}: " if block.severity else ""
    text = textwrap.fill(
        label + clean(block.text, 2000), canvas.width, subsequent_indent="  " if label else "",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return canvas.style(text, block.severity) if block.severity in _STYLES else text


def _facts(block: Facts, canvas: Canvas) -> str:
    items = [(clean(label), text) for label, text in block.items]
    pad = max((len(label) for label, _ in items), default=0) + 2
    lines = []
    for label, text in items:
        filled = textwrap.wrap(
            clean(text, 2000), max(canvas.width - pad, 20),
            break_long_words=False, break_on_hyphens=False,
        ) or [""]  # fmt: skip
        lines.append(canvas.style(label.ljust(pad), "dim") + filled[0])
        lines += [" " * pad + more for more in filled[1:]]
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")  # it was for wrapping alone


def _table(table: Table, canvas: Canvas) -> str:
    dropped = table.idle
    while True:
        text = _drawn(table, canvas, frozenset(dropped))
        left = [name for name in table.optional if name not in dropped]
        widest = max((len(line) for line in text.splitlines()), default=0)
        if widest <= canvas.width or not left:
            break
        dropped.append(left[-1])
    lines = text.splitlines()
    if lines:
        lines[0] = canvas.style(lines[0], "bold")
    if table.total and len(lines) > 2:
        lines.insert(-1, lines[1])
        lines[-1] = canvas.style(lines[-1], "bold")
    title = [canvas.style(clean(table.title), "bold")] if table.title else []
    return "\n".join([*title, *lines])


def _drawn(table: Table, canvas: Canvas, dropped: frozenset[str]) -> str:
    from tabulate import tabulate

    kept = [i for i, column in enumerate(table.columns) if column.name not in dropped]
    columns = [table.columns[i] for i in kept]
    rows = [[shown(row[i], table.columns[i], canvas) for i in kept] for row in table.rows]
    lines = tabulate(
        rows,
        headers=[clean(column.title) for column in columns],
        tablefmt="simple",
        disable_numparse=True,
        colalign=[_align(column) for column in columns] if rows else None,
        preserve_whitespace=True,
    )
    return "\n".join(line.rstrip() for line in lines.splitlines())


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
    if column.kind == "bar" and isinstance(cell, (int, float)):
        return bar(float(cell), canvas)
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return clean(str(cell))


def bar(share: float, canvas: Canvas) -> str:
    """A bar of at most ten characters, in eighths of one where the terminal can show them."""
    share = min(max(share, 0.0), 1.0)
    if not canvas.unicode:
        return "#" * round(share * _BAR)
    eighths = round(share * _BAR * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()
