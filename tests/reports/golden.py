"""Reports as files: fixtures/reports/<case> holds what is reported and how each format shows it.

A case is a folder with one input, ``model.json`` (the files of a model, as a recipe) or
``document.json`` (blocks, as they are), and the expected texts next to it: ``60.txt`` (a terminal
of 60 columns), ``markdown.md``, ``data.csv``, ``data.json``. ``python -m tests.reports.golden``
writes the texts as they are now; a new case is a folder with its input.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hfinspect import Inspection, inspect
from hfinspect.analysis.count import GROUPINGS, grouped, per_layer
from hfinspect.core.refs import Origin
from hfinspect.reports import csv, markdown, table
from hfinspect.reports import json as json_report
from hfinspect.reports.document import (
    Block,
    Column,
    Document,
    Facts,
    Paragraph,
    Preformatted,
    Table,
)
from hfinspect.reports.overview import lay_out
from hfinspect.reports.table import Canvas

from ..builders import write_safetensors

CASES = Path(__file__).resolve().parents[2] / "fixtures" / "reports"


def cases() -> list[Path]:
    inputs = [*CASES.glob("*/model.json"), *CASES.glob("*/document.json")]
    return sorted(path.parent for path in inputs)


def rendered(case: Path) -> dict[str, str]:
    """Every text of a case, by file name."""
    inspection = _inspection(case)
    document = _document(case) if inspection is None else _laid_out(case, inspection)
    texts: dict[str, Callable[[], str]] = {
        "60.txt": lambda: table.render(document, Canvas(60)),
        "markdown.md": lambda: markdown.render(document),
        "data.csv": lambda: csv.render(document),
    }
    if inspection is not None:
        texts["data.json"] = lambda: json_report.render(inspection.to_dict(tensors=True))
    return {name: text() + "\n" for name, text in texts.items()}


def _inspection(case: Path) -> Inspection | None:
    """The model of ``model.json``, written to a folder and inspected; its place is left out."""
    path = case / "model.json"
    if not path.exists():
        return None
    recipe: dict[str, Any] = json.loads(path.read_text())
    with tempfile.TemporaryDirectory() as folder:
        for name, content in recipe["files"].items():
            file = Path(folder) / name
            if name.endswith(".safetensors"):
                tensors = {key: (dtype, tuple(shape)) for key, (dtype, shape) in content.items()}
                write_safetensors(file, tensors)
            else:
                file.write_text(json.dumps(content))
        inspection = inspect(Path(folder))
    origin = Origin("directory", case.name, path=f"/models/{case.name}")
    return replace(inspection, origin=origin, target=case.name)


def _laid_out(case: Path, inspection: Inspection) -> Document:
    by = json.loads((case / "model.json").read_text()).get("by", "component")
    groups = (
        inspection.components if by == "component" else grouped(inspection.tensors, GROUPINGS[by])
    )
    return lay_out(inspection, by=by, groups=groups, layers=per_layer(inspection.tensors))


def _document(case: Path) -> Document:
    content: dict[str, Any] = json.loads((case / "document.json").read_text())
    return Document(content["title"], tuple(_block(block) for block in content["blocks"]))


def _block(content: dict[str, Any]) -> Block:
    if "facts" in content:
        return Facts(tuple((label, text) for label, text in content["facts"]))
    if "columns" in content:
        return Table(
            tuple(Column(*column) for column in content["columns"]),
            tuple(tuple(row) for row in content["rows"]),
            content.get("title", ""),
            content.get("total", False),
            tuple(content.get("optional", ())),
        )
    if "preformatted" in content:
        return Preformatted(content["preformatted"], content.get("language", ""))
    return Paragraph(content["paragraph"], content.get("severity", ""))


def main() -> None:
    for case in cases():
        for name, text in rendered(case).items():
            (case / name).write_text(text)


if __name__ == "__main__":
    main()
