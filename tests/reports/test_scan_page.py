"""The page of a scan: every value is the CSV's, and ten thousand rows stay below 3 MB."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.reports import html, rows_page
from hfinspect.reports.csv import plain
from hfinspect.reports.grid import CODES, Bar, Grid, GridColumn, data
from hfinspect.scanning.rows import (
    AUDIT_COLUMNS,
    COLUMNS,
    MEMORY_COLUMNS,
    ScanRow,
    meanings,
    types_of,
)

from ..cli.program import ROOT
from ..cli.program import hfinspect as program

MODELS = ROOT / "fixtures" / "models"
COMMAND = ("--recursive", "--on", "24GB", "--context", "8k", "--audit", "-q")
ALL = (*COLUMNS, *MEMORY_COLUMNS, *AUDIT_COLUMNS)
PLACES = {code: place for place, code in enumerate(CODES)}


def held(page: str) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    grid: dict[str, Any] = json.loads(text)["grid"]
    return grid


def values(column: dict[str, Any], count: int) -> list[Any]:
    """As the script reads a column."""
    if "all" in column:
        return [column["all"]] * count
    if "codes" in column:
        digits = column["digits"]
        codes = column["codes"]
        assert len(codes) == count * digits
        places = [
            sum(PLACES[codes[i * digits + k]] * len(CODES) ** k for k in range(digits))
            for i in range(count)
        ]
        return [column["list"][place] for place in places]
    column_values: list[Any] = column["values"]
    return column_values


def made_up(count: int) -> list[ScanRow]:
    """Rows no two of which are alike in any number or name: the worst for a page."""
    generator = random.Random(33)
    types = types_of(ALL)
    rows: list[ScanRow] = []
    for at in range(count):
        row: ScanRow = {}
        for name, kind in types.items():
            number = generator.randrange(10**6, 10**11)
            row[name] = {"int64": number, "bool": number % 2 == 0}.get(kind, f"{name}-{number:x}")
        rows.append({**row, "target": f"organisation-{at % 997}/a-model-of-some-size-{at}"})
    for row in rows:
        row["status"] = "ok" if row["fits"] else "failed"
    return rows


def page_of(rows: list[ScanRow]) -> str:
    sized = rows_page.Sized(
        "RTX 4090", {"RTX 4090": 24 * 1024**3, "H100": 80 * 1024**3}, ("RTX 4090", "H100")
    )
    return html.render(rows_page.lay_out(rows, types_of(ALL), meanings(), (), sized))


def test_every_value_is_the_csv_s(tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    table = tmp_path / "x.csv"
    for output in (page, table):
        assert program("scan", MODELS, *COMMAND, "-o", output).code == 0
    rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))))
    grid = held(page.read_text(encoding="utf-8"))
    assert grid["rows"] == len(rows) > 8
    names = {column["name"] for column in grid["columns"]}
    said = {name for name in rows[0] if any(row[name] for row in rows)}
    assert said <= names
    for column in grid["columns"]:
        if column["name"] != rows_page.NEEDED:
            cells = [plain(cell) for cell in values(column, len(rows))]
            assert cells == [row[column["name"]] for row in rows], column["name"]


def test_the_verdict_comes_first(tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    assert program("scan", MODELS, *COMMAND, "-o", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert "<h1>Scan of 11 models</h1>" in text
    assert '<p class="sum">7 fit on 24GB, 4 do not; no audit errors</p>' in text


def test_bars_count_as_the_columns_do(tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    assert program("scan", MODELS, *COMMAND, "-o", page).code == 0
    grid = held(page.read_text(encoding="utf-8"))
    columns = {c["name"]: values(c, grid["rows"]) for c in grid["columns"]}
    charts = {title: (name, [Bar(*bar) for bar in bars]) for title, name, bars in grid["charts"]}
    assert list(charts) == [
        "On 24GB",
        "Smallest card that holds it",
        "Parameters",
        "Size of the weights",
    ]
    for title in ("Parameters", "Size of the weights"):
        name, bars = charts[title]
        assert [sum(bar.holds(v) for bar in bars) for v in columns[name]] == [1] * grid["rows"]
    name, bars = charts["Smallest card that holds it"]
    counts = {bar.label: sum(map(bar.holds, columns[name])) for bar in bars}
    limited = zip(columns["memory_total"], columns["smallest_card"], strict=True)
    assert counts["bytes unknown"] == list(limited).count((None, None))
    (card,) = [label for label in counts if label.startswith("up to RTX 4090")]
    sums = zip(columns["fits"], columns["memory_total"], strict=True)
    assert counts[card] >= sum(bool(fits and total) for fits, total in sums) > 0


@pytest.mark.parametrize(
    "count", [1, 3_000, pytest.param(10_000, marks=pytest.mark.all_recordings)]
)
def test_ten_thousand_rows_stay_below_3_mb(count: int) -> None:
    rows = made_up(count)
    text = page_of(rows)
    assert len(text.encode()) <= 3_000_000
    grid = held(text)
    assert grid["rows"] == count
    shown = [column["name"] for column in grid["columns"] if column["shown"]]
    assert {"target", "fits", "parameters", "nbytes", "memory_total"} <= set(shown)
    for column in grid["columns"]:
        if column["name"] != rows_page.NEEDED:
            assert values(column, count) == [row[column["name"]] for row in rows]
    assert (count == 1) is (grid["left"] == [])


def test_rows_like_those_of_the_hub_leave_nothing_out() -> None:
    """Sizes repeat, as fine-tuned models have those of their bases."""
    base = made_up(40)
    rows = [{**base[at % 40], "target": f"someone/model-{at}"} for at in range(10_000)]
    text = page_of(rows)
    assert len(text.encode()) <= 1_800_000
    assert held(text)["left"] == []


cells = st.none() | st.booleans() | st.integers() | st.text(max_size=20)


@given(st.lists(cells, min_size=1, max_size=30))
def test_each_form_of_a_column_gives_its_values(column: list[Any]) -> None:
    grid = data(Grid((GridColumn("x", "string", "", shown=True),), tuple((c,) for c in column)))
    again = json.loads(html.embedded(grid))
    for one, cell in zip(values(again["columns"][0], len(column)), column, strict=True):
        if isinstance(cell, str):
            assert isinstance(one, str)
        elif isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) >= 2**53:
            assert one == str(cell)
        else:
            assert (type(one), one) == (type(cell), cell)


@given(st.lists(st.integers(0, 10**16), min_size=1, max_size=20))
def test_every_number_is_in_one_bar(numbers: list[int]) -> None:
    bins = rows_page._bins(numbers)
    assert all(sum(low <= n < high for low, high in bins) == 1 for n in numbers)


def test_strangers_names_are_text() -> None:
    rows = made_up(1)
    rows[0]["target"] = "</script><script>alert(1)</script>\u202e\x07"
    text = page_of(rows)
    assert "<script>alert" not in text
    assert "\u202e" not in text
