"""What is large and all the same soon done, or soon left: 100,000 files in a folder, an archive of
150,000 members, a million names.

``pytest -m large`` runs them: to make them takes longer than to read them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hfinspect.sources.local import MAX_FILES

from ..auditing.sound import made, write
from ..builders import header_text, raw_safetensors
from .program import ROOT

pytestmark = [pytest.mark.large, pytest.mark.posix]

#: Seconds until a command that is interrupted must have ended; by hand it is a tenth of one.
MOST = 5.0
#: Moments of a run at which it is interrupted.
MOMENTS = 8
#: Most links to one file that file systems have.
LINKS = 30_000


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp("large")


@pytest.fixture(scope="module")
def crowded(place: Path) -> Path:
    """A model, and as many other files as a folder may hold."""
    folder = place / "crowded"
    folder.mkdir()
    write(made("single"), folder)
    (folder / "runs").mkdir()
    left = MAX_FILES - len(list(folder.iterdir()))  # the folder counts too
    for number in range(left):
        name = f"metrics-{number}.json" if number % 2 else f"sample-{number}.png"
        if number % LINKS == 0:
            first = folder / "runs" / name
            first.write_bytes(b"{}")
        else:
            os.link(first, folder / "runs" / name)
    return folder


@pytest.fixture(scope="module")
def members(place: Path) -> Path:
    """A zip archive of 150,000 empty members, 15 MB."""
    folder = place / "members"
    folder.mkdir()
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w") as archive:
        for number in range(150_000):
            archive.writestr(zipfile.ZipInfo(f"archive/data/{number}"), b"")
    return folder


@pytest.fixture(scope="module")
def names(place: Path) -> Path:
    """A safetensors file of 300,000 tensors without elements."""
    folder = place / "names"
    folder.mkdir()
    header = {
        f"model.layers.{number}.w": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
        for number in range(300_000)
    }
    (folder / "model.safetensors").write_bytes(raw_safetensors(header_text(header)))
    return folder


@pytest.fixture(scope="module")
def shards(place: Path) -> Path:
    """An index of a million shards."""
    folder = place / "shards"
    folder.mkdir()
    index = {"weight_map": {f"w{n}": f"model-{n}.safetensors" for n in range(1_000_000)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "model-1.safetensors").write_bytes(b"")
    return folder


def start(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hfinspect", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=cwd,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize(("command", "seconds"), [("inspect", 15.0), ("audit", 40.0)])
def test_as_many_files_as_a_folder_may_hold(crowded: Path, command: str, seconds: float) -> None:
    """Linear: by hand 2 and 6 seconds, of which a quadratic step took 110."""
    begun = time.monotonic()
    running = start(command, str(crowded), cwd=crowded)
    out, err = running.communicate(timeout=120)
    assert (running.returncode, "Traceback" in err) == (0, False), err
    assert ("model.safetensors" if command == "inspect" else "headers of 1 weight") in out
    assert time.monotonic() - begun < seconds


def test_one_more_is_refused(crowded: Path) -> None:
    extra = crowded / "runs" / "one-more"
    extra.write_bytes(b"")
    try:
        running = start("inspect", str(crowded), cwd=crowded)
        _, err = running.communicate(timeout=60)
    finally:
        extra.unlink()
    assert running.returncode == 4
    assert "holds more than 100,000 files" in err


@pytest.mark.parametrize("what", ["crowded", "members", "names", "shards"])
@pytest.mark.parametrize("command", ["inspect", "audit"])
def test_ctrl_c_at_any_moment(request: pytest.FixtureRequest, what: str, command: str) -> None:
    """While it starts, lists, reads, judges and writes: it ends at once, and says one line."""
    folder: Path = request.getfixturevalue(what)
    begun = time.monotonic()
    whole = start(command, str(folder), cwd=folder)
    whole.communicate(timeout=120)
    lasted = time.monotonic() - begun
    seen = set()
    for moment in range(MOMENTS):
        running = start(command, str(folder), cwd=folder)
        time.sleep(max(lasted * (moment + 0.5) / MOMENTS, 0.12))  # Python itself starts in 0.05
        begun = time.monotonic()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
        assert time.monotonic() - begun < MOST, (command, moment)
        assert "Traceback" not in err, err
        assert running.returncode in (130, whole.returncode), (moment, running.returncode, err)
        if running.returncode == 130:
            assert err in ("", "interrupted\n") or err.endswith("interrupted\n"), err
        seen.add(running.returncode)
    assert 130 in seen
