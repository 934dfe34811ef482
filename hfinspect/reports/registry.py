"""Output formats by name. Each renders a document; json takes the result's own JSON form."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final

from .document import Document
from .table import Canvas

#: Name -> module of this folder with ``render``.
FORMATS: Final = {"table": "table", "json": "json", "csv": "csv", "markdown": "markdown"}
#: Formats for documents full of formulas alone.
FORMULA_FORMATS: Final = {"latex": "latex"}


def render(
    format_name: str,
    document: Callable[[], Document],
    result: Callable[[], dict[str, Any]],
    canvas: Canvas | None = None,
) -> str:
    """A result as text in the named format; only what the format needs is made."""
    module = importlib.import_module(f".{(FORMATS | FORMULA_FORMATS)[format_name]}", __package__)
    if format_name == "json":
        return str(module.render(result()))
    if format_name == "table":
        return str(module.render(document(), canvas))
    return str(module.render(document()))
