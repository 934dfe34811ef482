"""Requests that are sent before the command line is set up: the same ones, each once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hfinspect.cli.fast_path import is_plain

from ..builders import Tensors
from ..hub_repos import weights
from ..hub_server import HubServer
from .program import ROOT, process
from .program import hfinspect as program

TENSORS: Tensors = {"wte.weight": ("BF16", (50257, 768))}

#: Begins each command, waits for what comes in, and says of which models that was.
PROGRAM = """
import json, sys
from hfinspect.cli.fast_path import begin
found = []
for arguments in json.loads(sys.argv[1]):
    begun = begin(arguments)
    sources = {} if begun is None else begun.sources
    for source in sources.values():
        source.list_files()
        [coming.result() for coming in source._coming.values()]
    found.append([ref.text for ref in sources])
assert sys.getswitchinterval() > 0.004  # threads take turns as usual once somebody reads
print(json.dumps([found, "typer" in sys.modules]))
"""
PLAIN: tuple[list[str], ...] = (
    ["org/model"],
    ["inspect", "org/model"],
    ["explain", "org/model@main"],
)
OTHER: tuple[list[str], ...] = (
    [],
    ["--help"],
    ["org/model", "--no-cache"],
    ["audit", "org/model"],
    ["model"],
    ["./org/model"],
    ["here/model"],
    ["org/model", "org/other"],
    ["-x/y"],
    ["inspect"],
)


def add(hub: HubServer) -> None:
    hub.add("org/model", {"config.json": b"{}", "model.safetensors": weights(TENSORS)})


def test_plain_commands_begin_before_the_parser_is_imported(hub: HubServer, tmp_path: Path) -> None:
    """And only they do: what an option says is known to the parser alone."""
    add(hub)
    (tmp_path / "here" / "model").mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([*PLAIN, *OTHER])],
        env={**hub.env(tmp_path), "PYTHONPATH": str(ROOT), "HFINSPECT_CACHE": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    modules, parser = json.loads(done.stdout)
    assert modules == [[arguments[-1]] for arguments in PLAIN] + [[] for _ in OTHER]
    assert not parser
    # The list and the header for each, which nobody parses here; the config is in the header cache.
    assert hub.meter.count("hub") == 1 + 2 * len(PLAIN)
    assert hub.meter.count("cdn") == len(PLAIN)


@pytest.mark.parametrize(
    ("arguments", "plain"),
    [
        (["org/model"], True),
        (["./a.json"], True),
        (["config.json"], True),
        (["here1"], True),
        (["model-7"], False),
        (["sca.n"], True),
        (["scan"], False),
        (["explian"], False),
        (["-x/y"], False),
        ([], False),
        (["org/a", "org/b"], False),
        (["inspect", "org/a"], False),
    ],
)
def test_one_model_needs_no_parser(
    arguments: list[str], plain: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bare word may be a command spelt wrong, and the shell may want to complete one."""
    (tmp_path / "here1").mkdir()
    (tmp_path / "scan").mkdir()
    monkeypatch.chdir(tmp_path)
    assert is_plain(arguments) is plain
    monkeypatch.setenv("_HFINSPECT_COMPLETE", "complete_bash")
    assert not is_plain(arguments)


def test_the_parser_would_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    (tmp_path / "broken.json").write_text("{")
    for name in ("config.json", "broken.json", "no.json", "no/such/folder"):
        path = str(tmp_path / name)
        assert is_plain([path]) and program(path) == program("inspect", path)


def test_nothing_is_asked_twice(hub: HubServer, tmp_path: Path) -> None:
    add(hub)
    early = process("org/model", env=hub.env(tmp_path))
    asked = sorted(
        (request.host, request.path.rpartition("/")[2]) for request in hub.meter.requests
    )
    hub.meter.clear()
    assert process("org/model", env=hub.env(tmp_path)) == early
    assert [request.path for request in hub.meter.requests] == ["/api/models/org/model"]
    hub.meter.clear()
    late = process("org/model", "--no-cache", env=hub.env(tmp_path))
    assert early == late
    assert [name for host, name in asked if host == "hub"] == [
        "config.json",
        "model",
        "model.safetensors",
    ]
    assert len(asked) == 4 == len(hub.meter.requests)


def test_an_error_is_the_commands_own(hub: HubServer, tmp_path: Path) -> None:
    """Said once, with its hint; the list is not requested again."""
    early = process("org/nowhere", env=hub.env(tmp_path))
    assert len(hub.meter.requests) == 1
    assert early == process("org/nowhere", "--no-cache", env=hub.env(tmp_path))
    assert early.code == 3 and "hint:" in early.err
    proxied = {**hub.env(tmp_path), "ALL_PROXY": "carrier://pigeon", "NO_PROXY": ""}
    assert "the proxy settings" in process("org/model", env=proxied).err
