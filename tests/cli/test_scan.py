"""``hfinspect scan``: lists, formats, columns, exit codes, resuming, ending early."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hfinspect.scanning.rows import AUDIT_COLUMNS, COLUMNS, LEADING

from ..builders import write_config, write_safetensors
from ..hub_server import HubServer
from ..scanning.scan_support import CONFIG, PARAMETERS, Scanner, fill, model_files, rows_in
from ..schemas import conforms
from .program import ROOT, hfinspect


@pytest.fixture
def scan(hub: HubServer, tmp_path: Path) -> Scanner:
    return Scanner(hub, tmp_path)


def local_model(folder: Path) -> Path:
    write_config(folder, CONFIG)
    return folder


def targets_in(path: Path) -> set[str]:
    """The targets of the whole lines of a file that may be growing."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return {json.loads(line)["target"] for line in lines if line.endswith("\n")}


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# ---- targets


def test_a_list_mixes_hub_and_local_and_skips_comments(scan: Scanner, tmp_path: Path) -> None:
    """Order of the list, a row for each target, failed or not."""
    fill(scan.hub, 1)
    local_model(tmp_path / "mine")
    text = "\ufeff# models\norg/m0001  # a Hub repo\n\n   ./mine\norg/nothing\n./absent\na b/c d\n"
    (tmp_path / "list.txt").write_text(text)
    done = scan("list.txt")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [(row["target"], row["status"], row["error_kind"]) for row in rows] == [
        ("org/m0001", "ok", None),
        ("./mine", "ok", None),
        ("org/nothing", "failed", "repo_not_found"),
        ("./absent", "failed", "entry_not_found"),
        ("a b/c d", "failed", "usage"),
    ]
    assert done.code == 1
    assert [row["source"] for row in rows[:2]] == ["checkpoint", "config"]
    for row in rows:
        conforms(row, "scan-row")


def test_targets_from_standard_input(scan: Scanner, tmp_path: Path) -> None:
    local_model(tmp_path / "mine")
    done = scan.process("-", stdin="./mine\n")
    assert json.loads(done.out)["parameters"] == PARAMETERS
    assert done.code == 0


def test_recursive_finds_every_model_below(tmp_path: Path) -> None:
    for name in ("b", "a/inner", "pipe/unet", ".hidden/model"):
        local_model(tmp_path / name)
    (tmp_path / "pipe" / "model_index.json").write_text('{"_class_name": "X"}')
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "readme.txt").write_text("no model")
    done = hfinspect("scan", tmp_path, "--recursive", "--quiet", "--no-cache", "--limit", "9")
    targets = [json.loads(line)["target"] for line in done.out.splitlines()]
    assert [Path(target).relative_to(tmp_path).as_posix() for target in targets] == [
        "a/inner",
        "b",
        "pipe",
    ]
    done = hfinspect("scan", ".", "--recursive", "--quiet", "--no-cache", cwd=tmp_path)
    assert [json.loads(line)["target"] for line in done.out.splitlines()][1] == "./b"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "needs a list"),
        (["absent.txt"], "does not exist"),
        (["."], "is a directory"),
        (["binary"], "is not a text file"),
        (["long"], "line 1 is not a target"),
        (["list", "--columns", "parameters,weight"], "column 'weight': is unknown"),
        (["list", "--columns", ","], "columns: are empty"),
        (["list", "--format", "xml"], "format 'xml': is unknown"),
        (["list", "--source", "weights"], "source 'weights': is unknown"),
        (["list", "--resume"], "--resume: needs a file of rows"),
        (["list", "--resume", "--format", "table", "-o", "x"], "--resume: needs a file of rows"),
        (["list", "--format", "parquet"], "format parquet: needs a file"),
        (["list", "--author", "org"], "Hub options were given too"),
        (["list", "-o", "list"], "list: is the list itself"),
        (["list", "-o", "./list", "-f", "html"], "list: is the list itself"),
        ([".", "--recursive", "--totals-only"], "is about models of the Hub"),
        (["list", "--shard", "0/3"], "shard 0/3: does not exist"),
        (["list", "--shard", "x"], "shard 'x': is malformed"),
        (["--author", "a", "--totals-only", "--audit"], "has its own columns"),
    ],
)
def test_what_cannot_be_is_said_at_once(tmp_path: Path, arguments: list[str], text: str) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x81" * 50)
    (tmp_path / "long").write_text("x" * 10_000)
    (tmp_path / "list").write_text("./a\n")
    done = hfinspect("scan", *arguments, "--no-cache", cwd=tmp_path)
    assert done.code in (2, 3)
    assert text in done.err
    assert done.out == ""
    assert (tmp_path / "list").read_text() == "./a\n"


# ---- formats and columns


def test_csv_has_a_header_and_plain_cells(scan: Scanner, tmp_path: Path) -> None:
    fill(scan.hub, 2)
    names = ["org/m0002", "=cmd()", "org/m0001"]
    done = scan(
        scan.list_of(names), "--format", "csv", "--columns", "parameters,beyond,tied,revision"
    )
    rows = list(csv.reader(io.StringIO(done.out)))
    assert rows[0] == [*LEADING, "parameters", "beyond", "tied", "revision"]
    assert [row[1] for row in rows[1:]] == ["ok", "failed", "ok"]
    assert rows[1][5:] == [str(PARAMETERS), "1", "false", ""]
    assert rows[2][0] == "'=cmd()"


def test_parquet_has_typed_columns(scan: Scanner, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    names = fill(scan.hub, 3)
    listed = scan.list_of([*names, "org/none"])
    out = tmp_path / "out.parquet"
    assert scan(listed, "--format", "parquet", "-o", out).code == 1
    table = parquet.read_table(out)
    assert table.column("target").to_pylist() == [*names, "org/none"]
    assert table.column("parameters").to_pylist() == [2344, 2344, 2344, None]
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds == {
        **dict.fromkeys(LEADING, "string"),
        **{name: column.kind for name, column in COLUMNS.items()},
    }
    assert sorted(path.name for path in tmp_path.iterdir() if "out" in path.name) == [out.name]


def test_a_finished_parquet_file_is_resumed_without_a_request(
    scan: Scanner, tmp_path: Path
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    names = fill(scan.hub, 3)
    out = tmp_path / "out.parquet"
    assert scan(scan.list_of(names[:2]), "--format", "parquet", "-o", out).code == 0
    scan.hub.meter.clear()
    assert scan(scan.list_of(names), "--format", "parquet", "-o", out, "--resume").code == 0
    assert parquet.read_table(out).column("target").to_pylist() == names
    assert not any("m0001" in path or "m0002" in path for path in scan.hub.meter.paths())


@pytest.mark.parametrize("format_", ["table", "markdown"])
def test_text_formats_show_a_table(tmp_path: Path, format_: str) -> None:
    local_model(tmp_path / "mine")
    (tmp_path / "list").write_text("./mine\n./none\n")
    asked = ["scan", "list", "--format", format_, "--quiet", "--no-cache"]
    done = hfinspect(*asked, cwd=tmp_path, env={"COLUMNS": ""})
    assert done.code == 1
    assert "./mine" in done.out
    assert "2,344" in done.out
    assert "does not exist" in done.out


def test_audit_adds_columns(tmp_path: Path) -> None:
    local_model(tmp_path / "mine")
    tensors = {"a.weight": ("F32", (2, 2))}
    write_safetensors(tmp_path / "mine" / "model.safetensors", tensors)
    local_model(tmp_path / "broken")
    (tmp_path / "broken" / "model.safetensors").write_bytes(b"\xff" * 64)
    (tmp_path / "list").write_text("./mine\n./none\n./broken\n")
    done = hfinspect("scan", "list", "--audit", "--quiet", "--no-cache", cwd=tmp_path)
    ok, failed, broken = (json.loads(line) for line in done.out.splitlines())
    assert ok["status"] == "ok"
    assert ok["audit_errors"] > 0
    assert ok["audit_codes"].startswith("HI")
    assert failed["audit_errors"] is None
    assert (broken["status"], broken["error_kind"]) == ("failed", "malformed_file")
    assert broken["audit_errors"] > 0
    for row in (ok, failed, broken):
        conforms(row, "scan-row")


# ---- resuming


def test_resume_after_kill_equals_the_undisturbed_run(scan: Scanner, tmp_path: Path) -> None:
    """Killed while some targets are slow and others done: nothing that was done is asked again."""
    names = fill(scan.hub, 60)
    listed = scan.list_of(names)
    out = tmp_path / "out.jsonl"
    whole = tmp_path / "whole.jsonl"
    arguments: list[str | Path] = [listed, "--jobs", "4", "--no-cache", "--quiet", "--output"]
    assert scan(*arguments, whole).code == 0
    scan.hub.fail("stall", "/api/models/org/m0021", times=1, seconds=60)
    scan.hub.latency = 0.01
    running = scan.start(*arguments, out)
    early = tmp_path / ".out.jsonl.early"
    wait_for(lambda: len(targets_in(out)) == 20 and len(targets_in(early) - targets_in(out)) >= 10)
    running.kill()
    running.communicate()
    assert [row["target"] for row in rows_in(out)] == names[:20]
    finished = targets_in(early)
    with out.open("a") as file:
        file.write('{"target": "org/m0021", "status": "o')  # what a crash in mid-line leaves
    with early.open("a") as file:
        file.write('{"target')
    scan.hub.faults.clear()
    scan.hub.meter.clear()
    assert scan(*arguments, out, "--resume").code == 0
    assert out.read_bytes() == whole.read_bytes()
    assert not early.exists()
    asked = {"/".join(p.split("/")[3:5]) for p in scan.hub.meter.paths() if "/api/" in p}
    assert asked.isdisjoint({*names[:20], *finished})
    assert names[20] in asked


def test_resume_says_what_failed_before(scan: Scanner, tmp_path: Path) -> None:
    """The exit code is that of the whole file, and failed rows are not asked again."""
    names = [*fill(scan.hub, 1), "org/none"]
    out = tmp_path / "out.jsonl"
    assert scan(scan.list_of(names), "-o", out).code == 1
    before = out.read_bytes()
    scan.hub.meter.clear()
    done = scan(scan.list_of(names), "-o", out, "--resume")
    assert (done.code, scan.hub.meter.requests) == (1, [])
    assert "has 2 rows" in done.err
    assert out.read_bytes() == before


@pytest.mark.parametrize("format_", ["jsonl", "csv"])
def test_refresh_asks_again_for_what_failed_or_moved(
    scan: Scanner, tmp_path: Path, format_: str
) -> None:
    names = [*fill(scan.hub, 2), "org/late"]
    out = tmp_path / "out"
    arguments: list[str | Path] = [
        scan.list_of(names),
        "-o",
        out,
        "--no-cache",
        "--format",
        format_,
    ]
    arguments += ["--columns", "parameters"]
    assert scan(*arguments).code == 1
    scan.hub.repos["org/m0002"].commit(model_files(7))
    scan.hub.add("org/late", model_files(8))
    assert scan(*arguments, "--resume").code == 1  # nothing is asked without --refresh
    scan.hub.meter.clear()
    assert scan(*arguments, "--refresh").code == 0
    assert scan.hub.meter.count("hub", "m0001") == 1  # its commit, no file
    fresh = tmp_path / "fresh"
    arguments[2] = fresh
    assert scan(*arguments).code == 0
    assert out.read_bytes() == fresh.read_bytes()


@pytest.mark.parametrize(
    ("format_", "content"),
    [
        ("jsonl", '{"target": "org/other", "status": "ok"}\n'),
        ("jsonl", "somebody's notes\n"),
        ("jsonl", "somebody's notes"),
        ("jsonl", "x" * 3_000_000),
        ("csv", "name,value\na,1\n"),
        ("csv", "name"),
        ("parquet", "PAR1 no"),
    ],
)
def test_resume_leaves_another_file_alone(tmp_path: Path, format_: str, content: str) -> None:
    if format_ == "parquet":
        pytest.importorskip("pyarrow")
    (tmp_path / "list").write_text("./a\n./b\n")
    out = tmp_path / "out"
    out.write_text(content)
    done = hfinspect(
        "scan", "list", "-o", out, "--format", format_, "--resume", "--no-cache", cwd=tmp_path
    )
    assert done.code == 2
    assert "--overwrite instead of --resume begins again" in done.err
    assert out.read_text() == content


def test_resume_refuses_the_rows_of_another_list(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("./a\n./b\n")
    arguments = ["scan", "list", "-o", "out", "--quiet", "--no-cache"]
    assert hfinspect(*arguments, cwd=tmp_path).code == 1
    before = (tmp_path / "out").read_text()
    (tmp_path / "list").write_text("./b\n./a\n")
    done = hfinspect(*arguments, "--resume", cwd=tmp_path)
    assert (done.code, (tmp_path / "out").read_text()) == (2, before)
    assert "row 1 is ./a, expected ./b" in done.err


def test_a_full_disk_leaves_whole_lines(scan: Scanner, tmp_path: Path) -> None:
    """The file may hold 4,000 bytes: an error, whole rows, and --resume goes on."""
    names = fill(scan.hub, 20)
    listed = scan.list_of(names)
    out = tmp_path / "out.jsonl"
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000));"
        "from hfinspect.__main__ import main; main()"
    )
    arguments = ["scan", listed, "-o", out, "--no-cache", "--quiet", "--jobs", "1"]
    done = subprocess.run(
        [sys.executable, "-c", limited, *map(str, arguments)],
        env={**scan.env, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3
    assert "cannot be written: File too large" in done.stderr
    there = rows_in(out)
    assert 0 < len(there) < 20
    assert scan(listed, "-o", out, "--no-cache", "--resume").code == 0
    assert [row["target"] for row in rows_in(out)] == names


# ---- ending early


@pytest.mark.parametrize(
    ("option", "rows"), [(["--fail-fast"], 2), (["--max-failures", "2"], 4), ([], 5)]
)
def test_too_many_failures_end_it(tmp_path: Path, option: list[str], rows: int) -> None:
    for name in ("a", "c", "e"):
        local_model(tmp_path / name)
    (tmp_path / "list").write_text("./a\n./b\n./c\n./d\n./e\n")
    done = hfinspect("scan", "list", "--no-cache", "-j", "1", *option, cwd=tmp_path)
    assert done.code == 1
    assert len(done.out.splitlines()) == rows
    assert ("stopped after" in done.err) is bool(option)


@pytest.mark.posix
def test_ctrl_c_ends_within_two_seconds(scan: Scanner, tmp_path: Path) -> None:
    """While half of the targets are stalled, some in the middle of a file."""
    names = fill(scan.hub, 12)
    scan.hub.fail("stall", "/api/models/org/m0007", seconds=60)
    scan.hub.fail("stall", "/org/m0009/resolve", seconds=60)
    out = tmp_path / "out.jsonl"
    running = scan.start(scan.list_of(names), "-o", out, "--no-cache", "--jobs", "8")
    early = tmp_path / ".out.jsonl.early"
    wait_for(lambda: len(targets_in(out) | targets_in(early)) == 10)
    begun = time.monotonic()
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=10)
    assert time.monotonic() - begun < 2
    assert running.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert {row["target"] for row in rows_in(out)} == {*names[:6]}
    assert targets_in(out) | targets_in(early) == {*names} - {names[6], names[8]}


def test_a_reader_that_has_seen_enough_ends_it(scan: Scanner) -> None:
    listed = scan.list_of(fill(scan.hub, 3))
    running = scan.start(listed, "--quiet", "--jobs", "1")
    assert running.stdout is not None
    running.stdout.close()
    assert running.stderr is not None
    assert running.stderr.read() == ""
    assert running.wait(timeout=20) == 0
    running.stderr.close()


# ---- progress


def test_progress_in_a_pipe_is_a_last_line(scan: Scanner) -> None:
    names = [*fill(scan.hub, 2), "org/none"]
    done = scan(scan.list_of(names))
    assert re.search(r"^3/3 \(100%\)  [\d.]+/s  1 failed  0:00 left$", done.err, re.MULTILINE)
    assert "failed: org/none: no such model" in done.err
    assert "\r" not in done.err


def test_quiet_is_quiet(scan: Scanner) -> None:
    done = scan(scan.list_of([*fill(scan.hub, 1), "org/none"]), "--quiet")
    assert (done.code, done.err) == (1, "")


@pytest.mark.posix
def test_progress_on_a_terminal_rewrites_its_line(scan: Scanner, tmp_path: Path) -> None:
    listed = scan.list_of(fill(scan.hub, 3))
    parent, child = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "hfinspect", "scan", listed, "-o", tmp_path / "out"],
        env={**scan.env, "PYTHONPATH": str(ROOT)},
        stderr=child,
        timeout=60,
        check=True,
    )
    os.close(child)
    shown = os.read(parent, 100_000).decode()
    os.close(parent)
    assert "\r3/3 (100%)" in shown


# ---- parts of a list


@pytest.mark.parametrize("format_", ["jsonl", "csv"])
def test_parts_in_a_row_are_the_whole(tmp_path: Path, format_: str) -> None:
    names = [f"./m{number}" for number in range(7)]
    for name in names[::2]:
        local_model(tmp_path / name)
    (tmp_path / "list").write_text("\n".join(names))
    arguments = ["scan", "list", "--format", format_, "--quiet", "--no-cache"]
    whole = hfinspect(*arguments, cwd=tmp_path).out
    parts = [hfinspect(*arguments, "--shard", f"{k}/3", cwd=tmp_path).out for k in (1, 2, 3)]
    assert "".join(parts) == whole
    assert all(parts)


# ---- tables


def test_columns_of_audits_can_be_named(tmp_path: Path) -> None:
    """Alone and in any order; naming one switches the audit on."""
    local_model(tmp_path / "mine")
    (tmp_path / "list").write_text("./mine\n")
    asked = ["scan", "list", "--quiet", "--no-cache", "-f", "jsonl"]
    for more in (["--audit"], []):
        done = hfinspect(*asked, *more, "--columns", "audit_codes,parameters", cwd=tmp_path)
        (row,) = map(json.loads, done.out.splitlines())
        assert list(row) == [*LEADING, "audit_codes", "parameters"]
        assert isinstance(row["audit_codes"], str)
        assert row["parameters"] == PARAMETERS
    every = json.loads(hfinspect(*asked, "--audit", "--columns", "parameters", cwd=tmp_path).out)
    assert list(every) == [*LEADING, "parameters", *AUDIT_COLUMNS]


def test_a_table_keeps_the_columns_that_were_named(tmp_path: Path) -> None:
    """However narrow the terminal is, and whether or not they are empty; a pipe has no width."""
    local_model(tmp_path / "mine")
    (tmp_path / "list").write_text("./mine\n./none\n")
    asked = ["scan", "list", "-q", "--no-cache", "-f", "table"]
    names = ["architecture", "quantization", "tensors", "nbytes"]
    columns = ["--columns", ",".join(names)]
    done = hfinspect(*asked, *columns, cwd=tmp_path, env={"COLUMNS": "60"})
    head, *_, last = done.out.splitlines()
    assert head.split() == ["target", "status", "error_kind", *names]
    assert last == "1 column hidden (error); -f csv shows it"
    columns[1] += ",error"
    assert "does not exist" in hfinspect(*asked, *columns, cwd=tmp_path, env={"COLUMNS": "60"}).out
    whole = hfinspect(*asked, cwd=tmp_path, env={"COLUMNS": ""}).out
    assert {"target", "model_type", "embedding", "logical"} <= set(whole.splitlines()[0].split())
    assert "hidden" not in whole


def test_a_table_of_totals_shows_the_totals(scan: Scanner) -> None:
    told = {"parameters": {"BF16": 100, "F32": 20}, "total": 120}
    scan.hub.add("org/mine", model_files(), info={"safetensors": told})
    asked = ("--author", "org", "--totals-only", "-f", "table", "-q")
    scan.env["COLUMNS"] = "40"
    done = scan(*asked)
    assert "hub_reported_parameters" in done.out.splitlines()[0]
    assert "120" in done.out
    some = scan(*asked, "--columns", "hub_reported_dtypes")
    assert some.out.splitlines()[0].split() == ["target", "status", "hub_reported_dtypes"]
    assert "'parameters': is unknown" in scan(*asked, "--columns", "parameters").err


@pytest.mark.posix
def test_on_a_terminal_rows_are_a_table(tmp_path: Path) -> None:
    local_model(tmp_path / "mine")
    (tmp_path / "list").write_text("./mine\n")
    parent, child = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "hfinspect", "scan", "list", "-q", "--no-cache"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        stdout=child,
        timeout=60,
        check=True,
    )
    os.close(child)
    shown = os.read(parent, 100_000).decode()
    os.close(parent)
    assert "{" not in shown
    assert "2,344" in shown
    assert " columns hidden (" in shown


@pytest.mark.parametrize(
    ("asked", "meant"), [("downlods", "downloads"), ("lastmodifed", "lastModified"), ("size", "")]
)
def test_an_order_that_the_hub_does_not_know(scan: Scanner, asked: str, meant: str) -> None:
    done = scan("--author", "org", "--sort", asked)
    assert (done.code, done.out) == (2, "")
    assert f"sort '{asked}': is unknown, expected downloads, likes, " in done.err
    assert (f"did you mean {meant}?" in done.err) is bool(meant)
    assert scan.hub.meter.paths() == []


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("size", "is not a column of the rows\nhint: did you mean nbytes?"),
        ("paramters", "is not a column of the rows\nhint: did you mean parameters?"),
        ("downlods", "is not a column of the rows, expected a column"),
        ("likes", "sorts only the Hub's own list, expected --author"),
    ],
)
def test_an_order_that_rows_do_not_have(
    scan: Scanner, tmp_path: Path, asked: str, meant: str
) -> None:
    """A list that the user gave is not the Hub's: not a word about two lists."""
    (tmp_path / "list").write_text("a\n")
    done = scan(tmp_path / "list", "--sort", asked)
    assert (done.code, done.out) == (2, "")
    assert f"sort '{asked}': {meant}" in done.err
