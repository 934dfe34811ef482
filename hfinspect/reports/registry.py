"""Output formats by name. Each renders a document; json takes the result's own JSON form."""

import importlib
from collections.abc import Callable
from typing import Any, Final

from .document import Document
from .table import Canvas

#: Name -> module of this folder with ``render``.
FORMATS: Final = {
    "table": "table",
    "json": "json",
    "csv": "csv",
    "markdown": "markdown",
    "html": "html",
}
#: Formats that draw a model's own picture alone.
DRAWN_FORMATS: Final = {"svg": "svg"}
#: Formats for documents full of formulas alone.
FORMULA_FORMATS: Final = {"latex": "latex"}

# What the commands write, in the order of their help.

#: A model's own report, which can be drawn as a picture too.
PICTURED: Final = (*FORMATS, *DRAWN_FORMATS, "card")
#: A derivation.
OF_FORMULAS: Final = ("table", "markdown", *FORMULA_FORMATS, "json", "html")
#: Findings, for the tools that take findings too.
OF_FINDINGS: Final = ("table", "json", "csv", "markdown", "sarif", "junit", "cyclonedx", "html")
#: The rules of the audit.
OF_RULES: Final = ("table", "json", "csv", "markdown")
#: Rows that a later run goes on with, and rows: a scan's.
OF_LATER_ROWS: Final = ("jsonl", "csv", "parquet")
#: Rows that are written when all are there.
ROW_DOCUMENTS: Final = ("table", "markdown", "html")
OF_ROWS: Final = (*OF_LATER_ROWS, *ROW_DOCUMENTS)


def render(
    format_name: str,
    document: Callable[[], Document],
    result: Callable[[], dict[str, Any]],
    canvas: Canvas | None = None,
    command: Callable[[], str] = str,
) -> str:
    """A result as text in the named format; only what the format needs is made. ``command`` is
    what a page says that made it."""
    known = FORMATS | FORMULA_FORMATS | DRAWN_FORMATS
    module = importlib.import_module(f".{known[format_name]}", __package__)
    if format_name == "json":
        return str(module.render(result()))
    if format_name == "table":
        return str(module.render(document(), canvas))
    if format_name == "html":
        return str(module.render(document(), result(), command()))
    return str(module.render(document()))
