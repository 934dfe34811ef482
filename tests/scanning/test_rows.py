"""Rows on disk and back; lists of targets; columns."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfinspect.errors import HfinspectError, UsageError
from hfinspect.scanning.journal import Journal
from hfinspect.scanning.lines import FORMATS
from hfinspect.scanning.resume import OutOfOrder
from hfinspect.scanning.row_work import Item
from hfinspect.scanning.rows import (
    AUDIT_COLUMNS,
    COLUMNS,
    LEADING,
    MEMORY_COLUMNS,
    TOTALS_COLUMNS,
    ScanRow,
    chosen_columns,
    types_of,
)
from hfinspect.scanning.targets import below, from_file, from_lines, part

from ..cli.program import ROOT
from ..examples import examples
from ..readme_tables import columns

COLUMNS_HERE = (*LEADING, "parameters", "tied", "dtype")

texts = st.text(max_size=20)
rows = st.fixed_dictionaries(
    {
        "target": texts.map(lambda text: "t" + text),
        "status": st.sampled_from(["ok", "failed"]),
        "error_kind": st.none(),
        "error": st.none() | texts,
        "commit": st.none(),
        "parameters": st.none() | st.integers(0, 2**63 - 1),
        "tied": st.none() | st.booleans(),
        "dtype": st.none(),
    }
).map(lambda row: {name: row[name] for name in COLUMNS_HERE})


def written(path: Path, format_: str, content: list[ScanRow]) -> bytes:
    with Journal(path, FORMATS[format_], COLUMNS_HERE, header=True) as journal:
        assert journal.open(resume=False) == []
        for row in content:
            journal.write(row)
    return path.read_bytes()


@pytest.mark.parametrize("format_", ["jsonl", "csv"])
@settings(max_examples=examples(25))
@given(content=st.lists(rows, max_size=4), data=st.data())
def test_a_file_cut_anywhere_is_resumed(
    format_: str, content: list[ScanRow], data: st.DataObject
) -> None:
    """Whatever a crash leaves: whole rows stay, the cut one goes, and the rest is as without."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out"
        whole = written(path, format_, content)
        at = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:at])
        with Journal(path, FORMATS[format_], COLUMNS_HERE, header=True) as journal:
            there = journal.open(resume=True)
            assert [kept.ok for kept in there] == [
                row["status"] == "ok" for row in content[: len(there)]
            ]
            for row in content[len(there) :]:
                journal.write(row)
        assert path.read_bytes() == whole


@settings(max_examples=examples(50))
@given(row=rows)
def test_a_line_is_read_back_as_it_was(row: ScanRow) -> None:
    """Exactly from JSON; from csv what a spreadsheet may show of it."""
    lines = FORMATS["jsonl"]
    assert lines.row(lines.line(row), COLUMNS_HERE) == row
    lines = FORMATS["csv"]
    line = lines.line(row)
    assert "\n" not in line
    assert lines.line(lines.row(line, COLUMNS_HERE)) == line
    for name in ("parameters", "tied", "status"):
        assert lines.row(line, COLUMNS_HERE)[name] == row[name]


@settings(max_examples=examples(50))
@given(content=st.binary(max_size=200))
def test_a_stranger_is_refused_and_left_alone(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out"
        path.write_bytes(content)
        with Journal(path, FORMATS["jsonl"], COLUMNS_HERE) as journal:
            try:
                assert journal.open(resume=True) == []
            except UsageError:
                assert path.read_bytes() == content
            else:
                assert b'{"target": "'.startswith(content[:12])


def test_early_rows_of_another_command_are_dropped(tmp_path: Path) -> None:
    row: ScanRow = dict.fromkeys(COLUMNS_HERE)
    row.update(target="a", status="ok")
    with OutOfOrder(tmp_path / "out", COLUMNS_HERE) as early:
        assert early.open(resume=False) == {}
        early.write(Item("a"), row, True)
        early.write(Item("b", row=row), row, True)  # it is there already
        early.write(Item("c"), row, False)  # in its turn
    with OutOfOrder(tmp_path / "out", COLUMNS_HERE) as early:
        assert early.open(resume=True) == {"a": row}
    with OutOfOrder(tmp_path / "out", (*LEADING, "files")) as early:
        assert early.open(resume=True) == {}
        early.finish()
    assert list(tmp_path.iterdir()) == []


# ---- lists


@given(lines=st.lists(st.text(max_size=30), max_size=10))
def test_any_text_is_a_list_or_an_error(lines: list[str]) -> None:
    try:
        targets = list(from_lines(lines))
    except UsageError:
        assert any("\0" in line for line in lines)
        return
    assert all(name and name == name.strip() and not name.startswith("#") for name in targets)
    assert len(targets) <= len(lines)


@settings(max_examples=examples(50))
@given(content=st.binary(max_size=300))
def test_any_file_is_a_list_or_an_error(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "list"
        path.write_bytes(content)
        try:
            assert all(from_file(path))
        except HfinspectError as error:
            assert error.exit_code == 2


@settings(max_examples=examples(50))
@given(items=st.lists(st.integers(), max_size=30), n=st.integers(1, 40))
def test_parts_in_a_row_are_the_list(items: list[int], n: int) -> None:
    parts = [part(items, f"{k}/{n}") for k in range(1, n + 1)]
    assert [item for row in parts for item in row] == items
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.posix
def test_a_directory_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    try:
        if list_works(closed):
            pytest.skip("this user may read everything")
        assert list(below(tmp_path)) == [str(closed)]
    finally:
        closed.chmod(0o700)


def list_works(folder: Path) -> bool:
    try:
        return list(folder.iterdir()) == []
    except PermissionError:
        return False


# ---- columns


def test_every_column_is_in_the_schema_and_the_table() -> None:
    schema = json.loads((ROOT / "hfinspect/schemas/scan-row.schema.json").read_text())
    names = [*LEADING, *COLUMNS, *MEMORY_COLUMNS, *AUDIT_COLUMNS, *TOTALS_COLUMNS]
    assert set(schema["properties"]) == set(names)
    assert schema["required"] == list(LEADING)
    kinds = {"string": "string", "int64": "integer", "bool": "boolean"}
    for name, kind in types_of(names).items():
        if name not in ("status", "target"):
            assert schema["properties"][name]["type"] == [kinds[kind], "null"]
    table = columns()
    assert all(f"| `{name}` | " in table for name in names)


def test_columns_are_chosen_by_name() -> None:
    assert chosen_columns(None) == tuple(COLUMNS)
    assert chosen_columns("nbytes, commit,parameters,nbytes") == ("nbytes", "parameters")


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("id", "repo_id"),
        ("name", "target"),
        ("hidden_size", "width"),
        ("size", "nbytes"),
        ("parmeters", "parameters"),
        ("sha", "commit"),
    ],
)
def test_an_unknown_column_names_the_one_that_is_meant(asked: str, meant: str) -> None:
    """``id`` is spelled like ``tied``, and means ``repo_id``; what is meant is not hidden among all
    the others."""
    with pytest.raises(UsageError) as caught:
        chosen_columns(f"parameters,{asked}")
    assert caught.value.hint == f"did you mean {meant}?"
    assert len(str(caught.value)) < 100
