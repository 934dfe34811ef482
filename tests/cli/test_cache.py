"""``hfinspect cache info|clear``."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from hfinspect.sources.header_cache import HeaderCache

from .program import ROOT, hfinspect


def test_info_and_clear(tmp_path: Path) -> None:
    env = {"HFINSPECT_CACHE": str(tmp_path / "kept")}
    cache = HeaderCache(tmp_path / "kept")
    cache.put("a", bytes(1000))
    cache.put("b", bytes(1000))
    shown = hfinspect("cache", "info", env=env)
    assert (shown.code, "2 entries" in shown.out, "1.07 GB" in shown.out) == (0, True, True)
    told = json.loads(hfinspect("cache", "info", "--format", "json", env=env).out)
    assert (told["entries"], told["path"]) == (2, str(tmp_path / "kept"))
    assert told["nbytes"] > 2000
    refused = hfinspect("cache", "clear", env=env)  # nobody to ask
    assert (refused.code, "--yes" in refused.err, "2 entries" in refused.err) == (2, True, True)
    assert hfinspect("cache", "clear", "--yes", env=env).code == 0
    assert json.loads(hfinspect("cache", "info", "-f", "json", env=env).out)["entries"] == 0


@pytest.mark.posix
@pytest.mark.parametrize(("answer", "left"), [("n", 1), ("y", 0), ("", 1)])
def test_clear_asks_at_a_terminal(answer: str, left: int, tmp_path: Path) -> None:
    cache = HeaderCache(tmp_path)
    cache.put("a", bytes(1000))
    parent, child = pty.openpty()
    os.write(parent, f"{answer}\n".encode())
    env = {**os.environ, "PYTHONPATH": str(ROOT), "HFINSPECT_CACHE": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "hfinspect", "cache", "clear"],
        stdin=child,
        capture_output=True,
        env=env,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(parent)
    os.close(child)
    assert done.returncode == 0
    assert "delete 1 entries" in done.stderr
    assert ("not deleted" in done.stdout) == bool(left)
    assert cache.info().entries == left


def test_nothing_is_asked_about_an_empty_cache(tmp_path: Path) -> None:
    assert hfinspect("cache", "clear", env={"HFINSPECT_CACHE": str(tmp_path)}).code == 0


def test_the_platform_says_where_it_is(tmp_path: Path) -> None:
    env = {
        "HFINSPECT_CACHE": "",
        "XDG_CACHE_HOME": str(tmp_path),
        "HOME": str(tmp_path),
        "LOCALAPPDATA": str(tmp_path),
    }
    told = json.loads(hfinspect("cache", "info", "-f", "json", env=env).out)
    assert Path(told["path"]).is_relative_to(tmp_path)
    assert "hfinspect" in told["path"]


def test_another_action_is_refused() -> None:
    done = hfinspect("cache", "burn")
    assert (done.code, "expected info or clear" in done.err) == (2, True)
