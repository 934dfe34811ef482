"""``hfinspect report``: the sum of all rows of a scan, whatever file they are in."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hfinspect as library
from hfinspect.errors import HfinspectError, UsageError
from hfinspect.scanning import summary
from hfinspect.scanning.journal import MAX_LINE
from hfinspect.scanning.lines import FORMATS
from hfinspect.scanning.rows import LEADING

from ..cli.program import ROOT, hfinspect
from ..examples import examples
from ..schemas import conforms

MODELS = ROOT / "fixtures" / "models"


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the same rows in every format: eleven models and a failure."""
    folder = tmp_path_factory.mktemp("rows")
    (folder / "empty").mkdir()
    names = sorted(path.name for path in MODELS.iterdir() if (path / "config.json").exists())
    lines = [*(str(MODELS / name) for name in names), str(folder / "empty")]
    (folder / "list.txt").write_text("".join(f"{line}\n" for line in lines))
    for name in ("rows.jsonl", "rows.csv"):
        done = hfinspect("scan", "list.txt", "-o", name, "-q", cwd=folder)
        assert done.code == 1, done.err
    return folder


def test_the_sums_are_those_of_the_rows(rows: Path) -> None:
    totals = library.report(rows / "rows.jsonl")
    lines = [json.loads(line) for line in (rows / "rows.jsonl").read_text().splitlines()]
    read = [row for row in lines if row["status"] == "ok"]
    assert (totals.rows, totals.ok) == (len(lines), len(read))
    assert totals.failures == {lines[-1]["error_kind"]: 1}
    assert totals.parameters == sum(row["parameters"] for row in read)
    sizes = [row["nbytes"] for row in read if row["nbytes"] is not None]
    assert (totals.sized, totals.nbytes) == (len(sizes), sum(sizes))
    assert 0 < len(sizes) < len(read)
    assert sum(one.models for one in totals.sizes) == totals.counted == len(read)
    for one in totals.sizes:
        of_size = [
            row
            for row in read
            if one.low <= row["parameters"] and (one.high is None or row["parameters"] < one.high)
        ]
        assert one.models == len(of_size)
        assert one.parameters == sum(row["parameters"] for row in of_size)
        for name, size in one.components.items():
            assert size == sum(row[name] for row in of_size)
        assert sum(one.components.values()) == one.parameters
    for group in totals.groups:
        whole = [*group.groups, group.others, group.without]
        assert sum(part.models for part in whole) == totals.ok, group.column
        assert sum(part.parameters for part in whole) == totals.parameters, group.column
        if group.column in ("architecture", "model_type", "quantization"):
            for part in group.groups:
                same = [row for row in read if row[group.column] == part.name]
                assert (part.models, part.parameters) == (
                    len(same),
                    sum(row["parameters"] for row in same),
                )
    conforms(totals.to_dict(), "report")


def test_every_format_of_rows_gives_the_same(rows: Path, tmp_path: Path) -> None:
    expected = library.report(rows / "rows.jsonl").to_dict()
    sources = [rows / "rows.csv"]
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        pass
    else:
        for name in ("rows.parquet", "parts/"):
            done = hfinspect("scan", "list.txt", "-o", f"{tmp_path}/{name}", "-q", cwd=rows)
            assert done.code == 1, done.err
            sources.append(tmp_path / name)
    for source in sources:
        document = library.report(source).to_dict()
        assert {**document, "target": expected["target"]} == expected


def test_the_command_in_its_formats(rows: Path, tmp_path: Path) -> None:
    asked = hfinspect("report", "rows.csv", "--format", "json", cwd=rows)
    assert asked.code == 0
    assert json.loads(asked.out)["target"] == "rows.csv"
    table = hfinspect("report", "rows.csv", cwd=rows).out
    assert "Report of rows.csv" in table
    assert "GPT2LMHeadModel" in table
    page = tmp_path / "report.html"
    assert hfinspect("report", "rows.csv", "-o", str(page), cwd=rows).code == 0
    assert page.stat().st_size < 200_000
    assert hfinspect("report", "rows.csv", "-f", "csv", cwd=rows).out.startswith("name,models")


def test_the_hubs_own_totals(tmp_path: Path) -> None:
    """Rows of ``--totals-only`` are a report too, which says whose numbers they are."""
    lines = [
        {
            **dict.fromkeys(LEADING),
            "target": f"org/m{number}",
            "status": "ok",
            "hub_reported_parameters": 10**number if number else None,
            "hub_reported_dtypes": "BF16:3 F32:7" if number else None,
            "architecture": "LlamaForCausalLM" if number % 2 else None,
        }
        for number in range(10)
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    totals = library.report(path)
    assert (totals.counted_by, totals.counted, totals.sized) == ("hub", 9, 0)
    assert totals.parameters == 1_111_111_110
    by = {group.column: group for group in totals.groups}
    assert [(one.name, one.models) for one in by["dtype"].groups] == [("F32", 9)]
    assert by["architecture"].without.models == 5
    shown = " ".join(hfinspect("report", str(path)).out.split())
    assert "by the Hub's own count, unknown of 1" in shown
    assert "Components" not in shown


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"hello\n", "does not begin like one"),
        (b"target,status,unheard\n", "does not begin like one"),
        (b"{}\n", "line 1 is not a row"),
        (b'{"target": "a", "status": "ok", "parameters": "many"}\n', "line 1 is not a row"),
        (b"target,status,parameters\na,ok,1\na,ok,x\n", "line 3 is not a row"),
        (b"PAR1 and then something else", None),
    ],
)
def test_what_no_scan_has_written(tmp_path: Path, content: bytes, text: str | None) -> None:
    path = tmp_path / "rows"
    path.write_bytes(content)
    done = hfinspect("report", str(path))
    assert done.code in (2, 3)
    assert text is None or text in done.err
    assert "Traceback" not in done.err
    (tmp_path / "folder").mkdir()
    assert "holds no part" in hfinspect("report", str(tmp_path / "folder")).err
    assert "does not exist" in hfinspect("report", str(tmp_path / "nowhere")).err


@settings(max_examples=examples(60), deadline=None)
@given(junk=st.binary(max_size=60), head=st.sampled_from([b"", b"{", b"target,status\n", b"PAR1"]))
def test_any_bytes_are_rows_or_an_error(tmp_path_factory: Any, junk: bytes, head: bytes) -> None:
    path = tmp_path_factory.mktemp("junk") / "rows"
    path.write_bytes(head + junk)
    try:
        totals = library.report(path)
    except HfinspectError:
        return
    conforms(totals.to_dict(), "report")


def test_memory_does_not_grow_with_rows_or_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name for every row: what is not kept apart is counted as others."""
    monkeypatch.setattr(summary, "MAX_VALUES", 100)
    columns = ("architecture", "parameters")
    peaks = []
    for count in (1_000, 8_000):
        path = tmp_path / f"{count}.jsonl"
        with path.open("w") as stream:
            for number in range(count):
                row = {**dict.fromkeys((*LEADING, *columns)), "target": "a", "status": "ok"}
                row |= {"architecture": f"C{number}", "parameters": number}
                stream.write(FORMATS["jsonl"].line(row) + "\n")
        tracemalloc.start()
        totals = library.report(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        (group,) = totals.groups
        assert (group.different, group.bounded) == (100, True)
        assert group.others.models == count - len(group.groups)
        assert totals.parameters == sum(range(count))
    assert peaks[1] < 1.2 * peaks[0] + 100_000


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_a_cut_last_line_is_left_out_and_said(rows: Path, tmp_path: Path, name: str) -> None:
    """As long as one character of it is there, and nothing where it is whole."""
    data = (rows / name).read_bytes()
    path = tmp_path / name
    whole = library.report(rows / name)
    assert whole.notes == ()
    lines = data.splitlines(keepends=True)
    for cut in (1, 10, len(lines[-1]) - 1):
        path.write_bytes(data[: len(data) - cut])
        totals = library.report(path)
        assert totals.rows == whole.rows - 1
        (note,) = totals.notes
        assert f"line {len(lines)}, the last one, is cut" in note
    assert "the last one, is cut" in " ".join(hfinspect("report", str(path)).out.split())
    path.write_bytes(lines[0][:30])
    totals = library.report(path)
    assert (totals.rows, "line 1, the last one" in totals.notes[0]) == (0, True)
    path.write_bytes(lines[0] + b"x" * (MAX_LINE + 5) + b"\n" + lines[1])
    with pytest.raises(UsageError, match="line 2 is not a row"):
        library.report(path)


def test_an_unfinished_folder_says_so(rows: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    hfinspect("scan", "list.txt", "-o", f"{tmp_path}/parts/", "-q", cwd=rows)
    manifest = tmp_path / "parts" / "_scan.json"
    manifest.write_text(manifest.read_text().replace('"complete": true', '"complete": false'))
    assert library.report(tmp_path / "parts").notes == (
        "the scan is not finished: rows of parts that are not whole are left out",
    )
    for part in manifest.parent.glob("*.parquet"):
        part.unlink()
    begun = library.report(tmp_path / "parts")
    assert (begun.rows, len(begun.notes)) == (0, 1)
    manifest.write_text("{")
    with pytest.raises(UsageError, match="is not the manifest of a scan"):
        library.report(tmp_path / "parts")
