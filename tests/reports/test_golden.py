"""Each report is what its file in fixtures/reports says."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import jsonschema
import pytest

import hfinspect

from . import golden

SCHEMA = json.loads(
    (Path(hfinspect.__file__).parent / "schemas" / "inspection.schema.json").read_text()
)
CASES = golden.cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_texts_are_those_of_the_files(case: Path) -> None:
    texts = golden.rendered(case)
    assert set(texts) == {path.name for path in case.iterdir()} - {"model.json", "document.json"}
    for name, text in texts.items():
        assert text == (case / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_texts_keep_what_all_of_them_promise(case: Path) -> None:
    """No control characters; 60 columns are kept by tables that may leave columns out; csv has
    as many cells in every row; JSON is by its schema."""
    for name in [name for name in golden.rendered(case) if name != "data.json"]:
        text = (case / name).read_text(encoding="utf-8")
        assert text.replace("\n", "").replace("\N{NO-BREAK SPACE}", "").isprintable(), name
    rows = list(csv.reader(io.StringIO((case / "data.csv").read_text(encoding="utf-8"))))
    assert len({len(row) for row in rows}) <= 1
    assert not [cell for row in rows for cell in row if cell[:1] in ("=", "@", "+")]
    if (case / "data.json").exists():
        jsonschema.validate(json.loads((case / "data.json").read_text()), SCHEMA)
        lines = (case / "60.txt").read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if len(line) > 60] == []
