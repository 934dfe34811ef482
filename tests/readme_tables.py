"""The README's tables that are read off the code.

``python -m tests.readme_tables`` writes them into README.md, between their markers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def architectures() -> str:
    from hfinspect.reports.model_types import coverage_markdown
    from hfinspect.trees.catalog import families

    return coverage_markdown(families())


def audit() -> str:
    from hfinspect.auditing.registry import table_markdown

    return table_markdown()


def columns() -> str:
    from hfinspect.scanning.rows import columns_table

    return columns_table()


TABLES: dict[str, Callable[[], str]] = {
    "architectures": architectures,
    "audit": audit,
    "columns": columns,
}


def filled(text: str) -> str:
    """The README with every table as it should be."""
    for name, table in TABLES.items():
        begin, end = f"<!-- table: {name} -->", "<!-- end -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        assert pattern.search(text), f"README.md has no place for the table {name}"
        text = pattern.sub(lambda _match, t=table, b=begin, e=end: f"{b}\n{t()}\n{e}", text)  # type: ignore[misc]
    return text


if __name__ == "__main__":
    README.write_text(filled(README.read_text()))
