"""Comma-separated values: the document's main table, numbers as plain numbers."""

import csv
import io

from ..core.text import clean
from .document import Cell, Document, Table

#: Spreadsheets take a cell that begins with one of these for a formula.
_FORMULA = tuple("=+-@\t\r＝＋－＠")
#: Longer cells are cut: what spreadsheets take.
MAX_CELL = 32_767


def render(document: Document) -> str:
    """The main table as RFC 4180 csv with a header line, without a final newline."""
    table = document.main or next((b for b in document.in_text if isinstance(b, Table)), None)
    if table is None:
        return ""
    shown = [i for i, column in enumerate(table.columns) if column.kind != "bar"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([plain(table.columns[i].name) for i in shown])
    for row in table.rows:
        writer.writerow([plain(row[i]) for i in shown])
    return out.getvalue().rstrip("\n")


def plain(cell: Cell) -> str:
    """A cell that no spreadsheet runs."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return f"{cell:.6g}"
    if isinstance(cell, int):
        return str(int(cell))
    if isinstance(cell, tuple):
        cell = ", ".join(f"{name} {share:.6g}" for name, share in cell)
    text = clean(cell, MAX_CELL - 1)
    return "'" + text if text.startswith(_FORMULA) else text
