"""What all results show of themselves: one line as text, tables in a notebook."""

from __future__ import annotations

import importlib
from typing import Any

from .text import clean

#: Longest text of a result in a list, a log or a debugger.
MAX_REPR = 199


class Shown:
    """A result that shows itself. ``_in_a_line`` says what it is in a few words.

    The renderers stand in a room above this one, which is found by its name, like the families of
    the catalog.
    """

    def _in_a_line(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        """``<Inspection org/name: 1,303,111,680 parameters>``: one line below 200 characters."""
        text = clean(f"{type(self).__name__} {self._in_a_line()}", MAX_REPR)
        return f"<{text[: MAX_REPR - 3]}…>" if len(text) > MAX_REPR - 2 else f"<{text}>"

    def to_markdown(self) -> str:
        """The report as GitHub-flavoured Markdown, as ``--format markdown`` writes it."""
        text: str = _notebook().markdown(self)
        return text

    def to_pandas(self) -> Any:
        """The report's main table, the one that ``--format csv`` writes, as a pandas DataFrame.

        Raises UsageError where pandas is not installed.
        """
        return _notebook().frame(self)

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        text: str = _notebook().html(self)
        return text


def counted(parameters: int | None) -> str:
    """``1,303,111,680 parameters``, or that the number is unknown."""
    return "parameters unknown" if parameters is None else f"{parameters:,} parameters"


def _notebook() -> Any:
    return importlib.import_module(f"{__package__.partition('.')[0]}.reports.notebook")
