"""``hfinspect cache info|clear``."""

from __future__ import annotations

import json
from pathlib import Path

from hfinspect.sources.header_cache import HeaderCache

from .program import hfinspect


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
    assert hfinspect("cache", "clear", env=env).code == 0
    assert json.loads(hfinspect("cache", "info", "-f", "json", env=env).out)["entries"] == 0


def test_the_platform_says_where_it_is(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path)}
    told = json.loads(hfinspect("cache", "info", "-f", "json", env=env).out)
    assert Path(told["path"]).is_relative_to(tmp_path)
    assert "hfinspect" in told["path"]


def test_another_action_is_refused() -> None:
    done = hfinspect("cache", "burn")
    assert (done.code, "expected info or clear" in done.err) == (2, True)
