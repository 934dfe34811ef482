"""No limit ends an audit silently: what it leaves out is a warning with a code (HI422)."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import zipfile
from pathlib import Path

import pytest

import hfinspect
from hfinspect.auditing import run
from hfinspect.auditing.facts import collect, other_files
from hfinspect.formats.torch import archive
from hfinspect.sources import hidden
from hfinspect.sources.local import MAX_DEPTH

from ..cli import program
from ..hub_repos import StoredFile
from ..hub_server import Fault, HubServer
from ..sources.hub_support import client
from ..trust.evil import EVIL_PICKLE
from .sound import made, write


def left_out(result: hfinspect.AuditResult) -> list[str]:
    return [f.text for f in result.failing("warning") if f.code == "HI422"]


def put(folder: Path, path: str, content: bytes = EVIL_PICKLE) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content)


def stored(content: bytes) -> StoredFile:
    return StoredFile(content, len(content), lfs=True)


def test_fail_on_warning_sees_it(tmp_path: Path) -> None:
    write(made("single"), tmp_path)
    assert program.hfinspect("audit", tmp_path, "--fail-on", "warning").code == 0
    put(tmp_path, f"{'d/' * (MAX_DEPTH + 1)}x.bin", b"x")
    done = program.hfinspect("audit", tmp_path, "--fail-on", "warning")
    assert done.code == 1
    assert "HI422" in done.out
    for format_name in ("sarif", "junit", "json"):
        assert "HI422" in program.hfinspect("audit", tmp_path, "--format", format_name).out


@pytest.mark.parametrize(
    ("module", "limit", "files"),
    [
        (other_files, "MAX_SNIFFED", {f"{n}.dat": b"x" for n in range(20)}),
        (collect, "MAX_OTHER_FILES", {f"{n}.json": b"{}" for n in range(9)}),
        (collect, "MAX_OTHER_JSON", {"a.json": b'{"a": "bcdef"}'}),
        (collect, "MAX_TEMPLATE_FILES", {f"{n}.jinja": b"x" for n in range(9)}),
        (collect, "MAX_REPOS", {f"{n}/modules.json": b"[]" for n in range(9)}),
        (hidden, "MAX_HIDDEN_FILES", {f".x/{n}": b"x" for n in range(9)}),
        (hidden, "MAX_DEPTH", {f".x/{'d/' * 7}x": b"x"}),
    ],
)
def test_each_limit_of_a_directory(
    module: object,
    limit: str,
    files: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(made("single"), tmp_path)
    for path, content in files.items():
        put(tmp_path, path, content)
    assert left_out(hfinspect.audit(tmp_path)) == []
    monkeypatch.setattr(module, limit, 5)
    result = hfinspect.audit(tmp_path)
    paths = left_out(result)
    assert len(paths) == 1
    assert paths[0] in [f"{item.what}: {item.why}" for item in result.unchecked]
    assert result.ok


def test_a_large_json_file_is_looked_at(tmp_path: Path) -> None:
    write(made("single"), tmp_path)
    config = {"text": "x" * 2_000_000, "token": f"hf_{'a' * 34}"}
    put(tmp_path, "results.json", json.dumps(config).encode())
    assert "HI413" in {f.code for f in hfinspect.audit(tmp_path).findings}


@pytest.mark.parametrize(
    "path",
    [
        ".x/a",
        ".ipynb_checkpoints/a.txt",
        ".git/a.bin",
        "sub/.y/b/c",
        ".cache/x/a",
        ".cache/huggingface/a",
        ".gitlike/objects/aa",
    ],
)
def test_hidden_folders_are_searched_for_pickles(path: str, tmp_path: Path) -> None:
    write(made("single"), tmp_path)
    for name in ("HEAD", "objects/aa/bb", "refs/heads/main", "config"):
        put(tmp_path, f".git/{name}", b"ref: x\n")
    put(tmp_path, path)
    findings = {(f.code, f.file) for f in hfinspect.audit(tmp_path).failing("warning")}
    assert findings == {("HI401", path)}


def test_the_objects_of_version_control_are_left_out_without_a_warning(tmp_path: Path) -> None:
    write(made("single"), tmp_path)
    for name in ("HEAD", "objects/aa/bb", "refs/heads/main", "lfs/objects/aa", "hooks/x.sample"):
        put(tmp_path, f".git/{name}")
    result = hfinspect.audit(tmp_path)
    assert result.failing("warning") == ()
    assert "version control" in " ".join(item.why for item in result.unchecked)
    (tmp_path / ".git/HEAD").unlink()  # no repository of git
    files = {f.file for f in hfinspect.audit(tmp_path).findings if f.code == "HI401"}
    assert ".git/lfs/objects/aa" in files


@pytest.mark.posix
def test_a_link_in_a_hidden_folder(tmp_path: Path) -> None:
    folder = write(made("single"), tmp_path / "model")
    put(tmp_path, "other/a")
    (folder / ".x").mkdir()
    (folder / ".x/link").symlink_to(tmp_path / "other")
    (folder / ".x/nothing").symlink_to(tmp_path / "nothing")
    assert ".x/link" in left_out(hfinspect.audit(folder))[0]


def test_a_text_that_may_go_on_as_a_pickle(tmp_path: Path) -> None:
    """The first line of a pickle of protocol 0 can be of any length."""
    write(made("single"), tmp_path)
    put(tmp_path, "notes", b"S'" + b"x" * 20_000_000 + b"'\n0cos\nsystem\n(S'true'\ntR.")
    codes = {(f.code, f.severity) for f in hfinspect.audit(tmp_path).findings}
    assert ("HI403", "warning") in codes


# ---- the Hub


def test_on_the_hub_a_long_first_line_is_read_on(hub: HubServer) -> None:
    evil = b"S'" + b"x" * 20_000 + b"'\n0cos\nsystem\n(S'true'\ntR."
    long = evil.replace(b"x" * 20_000, b"x" * 400_000)
    hub.add("org/m", {**made("single"), "a.dat": stored(evil), "b.dat": stored(long)})
    findings = hfinspect.audit("org/m", client=client(hub)).failing("warning")
    assert {(f.code, f.severity, f.file) for f in findings} == {
        ("HI401", "error", "a.dat"),
        ("HI403", "warning", "b.dat"),
    }


@pytest.mark.parametrize("path", ["training_args.bin", "notes.dat", "chat.jinja", "m.onnx"])
def test_what_the_network_refuses_is_a_warning(path: str, hub: HubServer) -> None:
    hub.add("org/m", {**made("single"), path: stored(gzip.compress(EVIL_PICKLE))})
    hub.faults.append(Fault("status", match=path, status=500))
    result = hfinspect.audit("org/m", client=client(hub))
    assert {f.file for f in result.findings if f.code == "HI422"} == {path}


def zipped(names: list[str], gap: int = 0, method: int = zipfile.ZIP_STORED) -> bytes:
    """Pickles under these names, storages of ``gap`` bytes around each; no two name the same."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for number, name in enumerate(names):
            file.writestr(f"model/data/{number}", bytes(gap))
            file.writestr(name, b"cos\nsystem%d\n(S'true'\ntR." % number, method)
        file.writestr("model/data/last", bytes(gap))
        file.writestr("model/data.pkl", pickle.dumps({}, protocol=2))
    return out.getvalue()


def test_on_the_hub_members_with_names_of_text_are_looked_at(hub: HubServer) -> None:
    data = zipped(["model/code/a.py", "b.json", "c.txt"], gap=400_000)
    hub.add("org/m", {**made("single"), "m.mar": stored(data)})
    findings = hfinspect.audit("org/m", client=client(hub)).findings
    texts = " ".join(f.text for f in findings if f.severity == "error")
    assert all(name in texts for name in ("a.py", "b.json", "c.txt"))


def test_on_the_hub_members_far_apart_are_a_warning(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_TEXT_READS", 2)
    data = zipped([f"{n}.txt" for n in range(6)], gap=400_000)
    hub.add("org/m", {**made("single"), "m.mar": stored(data)})
    findings = hfinspect.audit("org/m", client=client(hub)).failing("warning")
    texts = [f.text for f in findings if f.code == "HI403" and "names of text" in f.text]
    assert len(texts) == 1


def test_on_the_hub_text_members_next_to_each_other_cost_one_request(hub: HubServer) -> None:
    requests = []
    for count in (1, 100):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as file:
            file.writestr("model/data/0", bytes(400_000))
            for number in range(count):
                file.writestr(f"model/code/{number}.py", b"x = 1\n")
            file.writestr("model/data/1", bytes(400_000))
        hub.add("org/m", {**made("single"), "m.mar": stored(out.getvalue())})
        before = hub.meter.count("cdn")
        assert hfinspect.audit("org/m", client=client(hub)).failing("warning") == ()
        requests.append(hub.meter.count("cdn") - before)
    assert requests[0] == requests[1]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_that_only_python_unpacks(method: int, tmp_path: Path) -> None:
    write(made("single"), tmp_path)
    put(tmp_path, "m.mar", zipped(["weights"], method=method))
    findings = hfinspect.audit(tmp_path).failing("error")
    assert {f.code for f in findings} == {"HI403"}


def test_findings_beyond_those_that_are_counted_may_be_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand notes do not hide what comes behind them."""
    monkeypatch.setattr(run, "MAX_PER_RULE", 2)
    monkeypatch.setattr(run, "MAX_COUNTED", 3)
    for count, severity in ((5, "note"), (6, "error")):
        folder = write(made("single"), tmp_path / str(count))
        for number in range(count):
            put(folder, f"{number}.py", b"")
        last = [f for f in hfinspect.audit(folder).findings if f.code == "HI405"]
        assert severity in {f.severity for f in last if "not listed" in f.text}


def test_on_the_hub_large_graphs_are_one_warning_and_a_deep_audit_reads_them(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large tensors with their data between them, and at the end one that takes it from outside."""
    monkeypatch.setattr(collect, "MAX_REMOTE_GRAPH_READS", 1)
    tensor = b"\x4a" + varint(800_000) + bytes(800_000)
    tensors = (b"\x2a" + varint(len(tensor)) + tensor) * 3
    outside = b"\x2a\x14\x6a\x12\x0a\x08location\x12\x06../out"
    data = b"\x3a" + varint(len(tensors) + len(outside)) + tensors + outside
    files = dict.fromkeys((f"onnx/{n}.onnx" for n in range(2)), stored(data))
    hub.add("org/m", {**made("single"), **files})
    result = hfinspect.audit("org/m", client=client(hub))
    assert len(left_out(result)) == 1
    assert result.ok
    deep = hfinspect.audit("org/m", client=client(hub), deep=True).findings
    assert {f.file for f in deep if f.code == "HI420"} == set(files)


def varint(value: int) -> bytes:
    data = b""
    while value > 127:
        data = data + bytes([value & 127 | 128])
        value = value >> 7
    return data + bytes([value])
