"""Scans to a folder of parts: whatever ends a run, no row is lost and none is read twice."""

from __future__ import annotations

import json
import random
import re
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfinspect import report
from hfinspect.errors import UsageError
from hfinspect.scanning.dataset import Dataset
from hfinspect.scanning.dataset_manifest import Manifest, read_manifest, write_manifest
from hfinspect.scanning.row_work import Item
from hfinspect.scanning.rows import lead, types_of
from hfinspect.scanning.targets import falls_to
from hfinspect.sources.hub.client import HubClient
from hfinspect.sources.hub.search import BEGIN, ListPlace, list_models

from ..cli.program import hfinspect
from ..examples import examples
from ..hub_server import HubServer
from .scan_support import Scanner, fill, model_files

dataset = pytest.importorskip("pyarrow.dataset")

COLUMNS = ("repo_id",)
TYPES = types_of(COLUMNS)


@pytest.fixture
def scan(hub: HubServer, tmp_path: Path) -> Scanner:
    return Scanner(hub, tmp_path)


def targets_of(folder: Path) -> list[str]:
    """Of all parts, as a reader of datasets finds them."""
    if not list(folder.glob("*.parquet")):
        return []
    targets: list[str] = dataset.dataset(folder, format="parquet").to_table()["target"].to_pylist()
    return targets


def wait_for(folder: Path, parts: int) -> None:
    end = time.monotonic() + 30
    while len(list(folder.glob("*.parquet"))) < parts:
        assert time.monotonic() < end
        time.sleep(0.01)


# ---- the command


@pytest.mark.posix
def test_a_killed_scan_of_the_hubs_list_goes_on_with_its_cursor(
    scan: Scanner, tmp_path: Path
) -> None:
    """The second run asks neither for a page before the first part that is not whole, nor for a
    model that has a row."""
    names = fill(scan.hub, 350)
    scan.hub.page_size = 40
    scan.hub.fail("stall", f"/{names[230]}/resolve", times=1, seconds=60)
    out = tmp_path / "models"
    command = ["--author", "org", "-o", f"{out}/", "--part-rows", "100", "--no-cache"]
    running = scan.start(*command)
    wait_for(out, 2)
    journal = out / "_part-00002.rows.jsonl"
    end = time.monotonic() + 30
    while not journal.exists() or journal.read_text().count("\n") < 60:
        assert time.monotonic() < end
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    assert targets_of(out) == names[:200]
    lines = journal.read_text().splitlines()
    kept = {json.loads(line)["target"] for line in lines if line.endswith("}")}
    journal.write_text(journal.read_text() + '{"target": "org/m03')  # a line that was cut
    scan.hub.meter.clear()
    done = scan(*command, "--resume")
    assert (done.code, targets_of(out)) == (0, names)
    assert scan.hub.meter.count("hub", "/api/models") == 5  # of 9: entry 200 ends the fifth
    again = {path.split("/resolve/")[0][1:] for path in scan.hub.meter.paths() if "resolve" in path}
    assert again.isdisjoint(names[:200]) and again.isdisjoint(kept)
    assert sorted(path.name for path in out.iterdir()) == [
        "_scan.json",
        *(f"part-{number:05d}.parquet" for number in range(4)),
    ]


def test_shards_share_a_folder(scan: Scanner, tmp_path: Path) -> None:
    names = fill(scan.hub, 40)
    out = tmp_path / "out"
    listed = scan.list_of(names)
    for k in (1, 2, 3):
        done = scan("--author", "org", "-o", f"{out}/", "--shard", f"{k}/3")
        assert done.code == 0
    targets = targets_of(out)
    assert sorted(targets) == names
    of_second = dataset.dataset(out / "part-2-of-3-00000.parquet").to_table()["target"].to_pylist()
    assert of_second == [name for name in names if falls_to(name, 2, 3)]
    assert 0 < len(of_second) < 40
    other = scan(listed, "-o", out, "--shard", "1/2")
    assert other.code == 2
    assert "of 3 shards, expected parts of 2" in other.err


def test_a_list_file_is_checked_and_may_grow(scan: Scanner, tmp_path: Path) -> None:
    names = fill(scan.hub, 120)
    out = tmp_path / "out"
    listed = scan.list_of(names[:110])
    command = [str(listed), "-o", f"{out}/", "--part-rows", "100", "--no-cache"]
    assert scan(*command).code == 0
    refused = scan(*command)
    assert refused.code == 2
    assert "holds a scan: 110 rows in 2 whole parts" in refused.err
    scan.list_of([*names, "org/none"])
    scan.hub.meter.clear()
    done = scan(*command, "--resume")
    assert done.code == 1
    assert "has 110 rows, 11 to go" in done.err
    assert targets_of(out) == [*names, "org/none"]
    assert not any(f"/{names[0]}/" in path for path in scan.hub.meter.paths())
    assert scan(*command, "--resume").code == 1  # a row failed, though not in this run
    scan.list_of(reversed(names))
    other = scan(*command, "--resume")
    assert (other.code, "part-00000.parquet: was written for another list" in other.err) == (
        2,
        True,
    )
    assert scan(*command, "--resume", "--columns", "dtype").code == 2
    assert scan(*command, "--overwrite").code == 0
    assert targets_of(out) == names[::-1]


def test_what_a_folder_does_not_take(scan: Scanner, tmp_path: Path) -> None:
    listed = scan.list_of(fill(scan.hub, 1))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    for arguments, reason in (
        (["-o", "full"], "holds thesis.txt, expected a new or an empty folder"),
        (["-o", "out/", "-f", "csv"], "expected parquet for a folder"),
        (["-o", "out/", "--sort", "parameters"], "sort the rows where you read them (ORDER BY)"),
        (["-o", "out/", "--shard", "3/2"], "expected 1/2 to 2/2"),
    ):
        done = scan(listed, *arguments)
        assert (done.code, reason in done.err) == (2, True), done.err
    assert not (tmp_path / "out").exists()
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis.txt"]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "_scan.json").write_text("{}")
    assert "is not the manifest of a scan" in scan(listed, "-o", "out/", "--resume").err


@pytest.mark.parametrize("begun", [0, 2])
def test_the_last_part_of_a_stopped_scan_is_not_written(
    scan: Scanner, tmp_path: Path, begun: int
) -> None:
    names = fill(scan.hub, 30)
    names.insert(begun, "org/none")
    out = tmp_path / "out"
    listed = scan.list_of(names)
    assert scan.process(listed, "-o", f"{out}/", "--fail-fast", "--jobs", "1").code == 1
    assert targets_of(out) == []
    assert scan(listed, "-o", f"{out}/", "--resume").code == 1
    assert targets_of(out) == names


def test_a_list_of_no_models_is_a_dataset_of_no_rows(scan: Scanner, tmp_path: Path) -> None:
    """With columns, and what it grows by later has its place."""
    listed = scan.list_of([])
    out = tmp_path / "out"
    assert scan(listed, "-o", f"{out}/").code == 0
    table = dataset.dataset(out, format="parquet").to_table()
    assert (len(table), table.column_names[:2]) == (0, ["target", "status"])
    for path in (out, tmp_path / "out.jsonl", tmp_path / "out.csv", tmp_path / "out.parquet"):
        assert scan(listed, "-o", path, "--overwrite").code == 0
        assert (report(path).rows, report(path).counted_by) == (0, "hfinspect")
        shown = hfinspect("report", str(path))
        assert (shown.code, "Traceback" in shown.err) == (0, False)
    names = fill(scan.hub, 3)
    assert scan(scan.list_of(names), "-o", f"{out}/", "--resume").code == 0
    assert targets_of(out) == names
    assert [path.name for path in out.glob("*.parquet")] == ["part-00000.parquet"]


# ---- refresh


def changed(scan: Scanner, name: str, number: int) -> None:
    scan.hub.repos[name].commit(model_files(number))


def commits_of(folder: Path) -> dict[str, str]:
    table = dataset.dataset(folder, format="parquet").to_table(columns=["target", "commit"])
    return {row["target"]: row["commit"] for row in table.to_pylist()}


@pytest.mark.parametrize("query", [True, False])
def test_a_refresh_reads_what_changed(scan: Scanner, tmp_path: Path, query: bool) -> None:
    """Rows of other models are taken over, wherever they were; failed ones are read again."""
    names = fill(scan.hub, 230)
    out = tmp_path / "out"
    listed = scan.list_of(["org/none", *names])
    arguments = ["--author", "org"] if query else [str(listed)]
    command = [*arguments, "-o", f"{out}/", "--part-rows", "100", "--no-cache"]
    assert scan(*command).code == (0 if query else 1)
    before = commits_of(out)
    for number, name in enumerate((names[3], names[210]), 1):
        changed(scan, name, 1000 + number)
    added = ["org/added", "org/none"]
    for number, name in enumerate(added):
        scan.hub.add(name, model_files(2000 + number))
    gone = names[100]
    del scan.hub.repos[gone]
    scan.list_of(["org/added", "org/none", *(name for name in names if name != gone)])
    scan.hub.meter.clear()
    assert scan(*command, "--refresh").code == 0
    read = {path.split("/resolve/")[0][1:] for path in scan.hub.meter.paths() if "resolve" in path}
    assert read == {names[3], names[210], *added}
    after = commits_of(out)
    assert sorted(after) == sorted({*names, *added} - {gone})
    assert len(targets_of(out)) == len(after)
    assert {name for name in after if before.get(name) != after[name]} == read
    assert sorted(path.name for path in out.iterdir()) == [
        "_scan.json",
        *(f"part-{number:05d}.parquet" for number in range(3)),
    ]
    assert report(out).notes == ()


@pytest.mark.posix
def test_a_killed_refresh_leaves_all_rows_and_goes_on(scan: Scanner, tmp_path: Path) -> None:
    names = fill(scan.hub, 250)
    out = tmp_path / "out"
    command = ["--author", "org", "-o", f"{out}/", "--part-rows", "100", "--no-cache"]
    assert scan(*command).code == 0
    before = commits_of(out)
    for number, name in enumerate(names):
        changed(scan, name, 1000 + number)
    scan.hub.fail("stall", f"/{names[140]}/resolve", times=1, seconds=60)
    running = scan.start(*command, "--refresh")
    wait_for(out / "_refresh", 1)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    assert commits_of(out) == before
    assert (report(out).rows, report(out).notes) == (250, ())
    scan.hub.faults.clear()
    scan.hub.meter.clear()
    done = scan(*command, "--refresh")
    assert (done.code, f"the refresh of {out} has 1" in done.err) == (0, True), done.err
    rows, more = re.findall(r"has (\d+) rows\n.*?(\d+)  ", done.err, re.DOTALL)[0]
    assert int(rows) + int(more) == 250
    again = {path.split("/resolve/")[0][1:] for path in scan.hub.meter.paths() if "resolve" in path}
    assert again.isdisjoint(names[:100])
    assert targets_of(out) == names
    assert {name for name, commit in commits_of(out).items() if commit == before[name]} == set()
    assert not (out / "_refresh").exists()


def test_parts_that_took_their_places_halfway_are_followed_by_the_rest(tmp_path: Path) -> None:
    chance = random.Random(1)
    folder = tmp_path / "rows"
    names = [f"org/m{number}" for number in range(10)]
    run(folder, names[:8], chance, stops=False)
    with Dataset(folder, TYPES, {}, part_rows=3) as parts:
        parts.look(resume=True, overwrite=False)
        fresh = parts.begin_refresh()
    run(fresh.folder, names[::-1][:5], chance, stops=False)
    (fresh.folder / "part-00000.parquet").replace(folder / "part-00000.parquet")
    run(folder, names[::-1][:5], chance, stops=False)
    assert targets_of(folder) == names[::-1][:5]
    assert len(list(folder.glob("*.parquet"))) == 2
    assert not fresh.folder.exists()


def test_totals_are_refreshed_too(scan: Scanner, tmp_path: Path) -> None:
    names = fill(scan.hub, 3)
    for name in names:
        scan.hub.repos[name].info["safetensors"] = {"parameters": {"BF16": 5}, "total": 5}
    for out in ("out/", "out.jsonl"):
        command = ["--author", "org", "--totals-only", "-o", out]
        assert scan(*command).code == 0
        total = report(tmp_path / out).parameters
        scan.hub.repos[names[1]].info["safetensors"] = {"parameters": {"BF16": 9}, "total": 9}
        assert scan(*command, "--refresh").code == 0
        assert report(tmp_path / out).parameters == total + 4
        scan.hub.repos[names[1]].info["safetensors"] = {"parameters": {"BF16": 5}, "total": 5}


# ---- listings by cursor


def test_a_list_goes_on_at_any_of_its_places(hub: HubServer) -> None:
    names = fill(hub, 9)
    hub.page_size = 4
    client = HubClient(endpoint=hub.endpoint, token=False)
    hub.at_close.append(client.close)
    for limit in (None, 7):
        whole = list(list_models(client, limit=limit))
        assert [model.repo_id for model in whole] == names[:limit]
        assert [model.end for model in whole][3:6] == [
            ListPlace(4, "", 4),
            ListPlace(5, "4", 1),
            ListPlace(6, "4", 2),
        ]
        for at, place in enumerate([BEGIN, *(model.end for model in whole)]):
            hub.meter.clear()
            rest = [model.repo_id for model in list_models(client, limit=limit, begin=place)]
            assert rest == names[at:limit]
            assert len(hub.meter.requests) <= 3 - max(at - 1, 0) // 4


# ---- any end, any order


@settings(max_examples=examples(30), deadline=None)
@given(count=st.integers(0, 12), seed=st.integers(0, 1 << 32))
def test_any_order_and_any_end(count: int, seed: int) -> None:
    """Rows come in any order, runs end at any row, the last line may be cut, and the manifest may
    be older than the last part: in the end each part has its rows, in the order of the list."""
    chance = random.Random(seed)
    names = [f"org/m{number}" for number in range(count)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in range(chance.randrange(4)):
            before = read_manifest(folder / "_scan.json")
            run(folder, names, chance, stops=True)
            if before is not None and chance.random() < 0.5:
                write_manifest(folder / "_scan.json", before)
            for journal in folder.glob("*.jsonl"):
                text = journal.read_bytes()
                journal.write_bytes(text[: max(len(text) - chance.randrange(4), 0)])
        run(folder, names, chance, stops=False)
        assert targets_of(folder) == names
        manifest = read_manifest(folder / "_scan.json")
        assert manifest is not None
        assert (manifest.rows, manifest.complete) == (count, True)
        assert all(part.rows == 3 for part in manifest.parts[:-1])
        assert not list(folder.glob("*.jsonl"))


def run(folder: Path, names: list[str], chance: random.Random, *, stops: bool) -> None:
    """One run, which ends before its last row if it ``stops``."""
    with Dataset(folder, TYPES, {}, part_rows=3) as parts:
        parts.begin(resume=True, overwrite=False)
        items = iter([Item(name) for name in names])
        parts.check(items)
        left: Iterator[Item] = parts.left(items)
        waiting: list[Item] = []
        while True:
            waiting += [item for item in [next(left, None)] if item is not None]
            if not waiting:
                break
            if stops and chance.random() < 0.15:
                return
            for _ in range(chance.randrange(len(waiting) + 1)):
                item = waiting.pop(chance.randrange(len(waiting)))
                parts.add(item, {**lead(item.target), "repo_id": item.target}, bool(waiting))
        if not stops:
            parts.finish()


# ---- manifests of others

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(max_examples=examples(60), deadline=None)
@given(
    key=st.sampled_from(
        [
            "version",
            "query",
            "part_rows",
            "complete",
            "next",
            "columns",
            "parts",
            "next.cursor",
            "next.skip",
        ]
    ),
    value=JSON,
)
def test_a_manifest_is_read_or_refused(key: str, value: object) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "_scan.json"
        written = Manifest({}, TYPES, 100)
        write_manifest(path, written)
        assert read_manifest(path) == written
        form = json.loads(path.read_text())
        place, _, inner = key.partition(".")
        if inner:
            form[place][inner] = value
        else:
            form[place] = value
        path.write_text(json.dumps(form))
        try:
            manifest = read_manifest(path)
        except UsageError:
            return
        assert manifest is not None
        write_manifest(path, manifest)
        assert read_manifest(path) == manifest


@given(junk=st.binary(max_size=40))
def test_junk_is_not_a_manifest(junk: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "_scan.json"
        path.write_bytes(junk)
        with pytest.raises(UsageError, match="is not the manifest of a scan"):
            read_manifest(path)


def test_every_target_falls_to_one_shard() -> None:
    names = [f"org/m{number}" for number in range(1000)]
    shares = [sum(falls_to(name, k, 7) for name in names) for k in range(1, 8)]
    assert sum(shares) == 1000
    assert min(shares) > 100
