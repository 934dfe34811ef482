"""What a scan says while it waits, when it is interrupted, when it ends, and before it deletes."""

from __future__ import annotations

import io
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hfinspect.cli.progress_line import ScanProgress, clock, seconds_of, spoken
from hfinspect.scanning.rows import ScanRow
from hfinspect.sources.hub.throttle import QuotaUse, Throttle

from ..hub_server import HubServer
from ..scanning.scan_support import Scanner, fill
from .program import hfinspect

ROW: ScanRow = {"status": "ok"}
FAILED: ScanRow = {"status": "failed", "error_kind": "gated", "error": "org/m: is gated"}


def quota(**changes: Any) -> QuotaUse:
    whole = QuotaUse("api", 500, 112.0, allowed=500, window=300.0, remaining=0, seconds=112.0)
    return whole._replace(**changes)


@pytest.fixture
def scan(hub: HubServer, tmp_path: Path) -> Scanner:
    return Scanner(hub, tmp_path)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown_on(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Standard error as a terminal of 120 columns, from now on: pytest sets it for each phase."""
    made = Screen()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("COLUMNS", "120")
    return made


def waiting(columns: str, monkeypatch: pytest.MonkeyPatch, *, token: bool = False) -> str:
    monkeypatch.setenv("COLUMNS", columns)
    now = [0.0]
    progress = ScanProgress(
        3000, quotas=lambda: [quota()], has_token=lambda: token, clock=lambda: now[0]
    )
    for _ in range(500):
        progress.add(ROW)
    now[0] = 30.0
    line = progress.line(30.0)
    progress.finish()
    return line


def test_the_waiting_line(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = shown_on(monkeypatch)
    assert waiting("120", monkeypatch) == (
        "500/3,000  waiting for the Hub: 500 calls in 5 min without a token; goes on in 1:52, "
        "about 22 min left"
    )
    assert "the Hub limits requests to 500 calls in 5 min without a token" in screen.getvalue()
    assert "`hf auth login` or HF_TOKEN raises the limit" in screen.getvalue()
    assert "with this token" not in screen.getvalue()
    assert waiting("80", monkeypatch) == (
        "500/3,000  waiting for the Hub; goes on in 1:52, about 22 min left"
    )
    assert waiting("40", monkeypatch, token=True) == "500/3,000  waits 1:52, 22 min left"


@pytest.mark.parametrize("total", [3_000, 20_000_000])
@pytest.mark.parametrize("blocked", [0.0, 112.0])
@pytest.mark.parametrize("columns", ["40", "60", "80", "120"])
def test_the_time_left_is_never_cut(
    monkeypatch: pytest.MonkeyPatch, columns: str, blocked: float, total: int
) -> None:
    shown_on(monkeypatch)
    monkeypatch.setenv("COLUMNS", columns)
    now = [0.0]
    progress = ScanProgress(total, quotas=lambda: [quota(blocked=blocked)], clock=lambda: now[0])
    for _ in range(500):
        progress.add(ROW)
    now[0] = 300.0
    line = progress.line(now[0])
    progress.finish()
    assert len(line) < int(columns)
    assert line.endswith(" left")
    assert ("1:52" in line) is bool(blocked)


def test_it_is_redrawn_while_nothing_comes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = shown_on(monkeypatch)
    progress = ScanProgress(3, quotas=lambda: [quota()])
    time.sleep(1.2)
    progress.finish()
    assert "waiting for the Hub" in screen.getvalue()


def test_time_left_counts_whole_windows() -> None:
    """2,500 more calls of 500 in 300 s: the rest of this window, four whole ones, and the work."""
    assert seconds_of(quota(), 2500, 500, 150.0) == pytest.approx(112 + 4 * 300 + 30)
    free = quota(blocked=0.0, used=100, remaining=400, seconds=290.0)
    assert seconds_of(free, 2900, 100, 29.0) == pytest.approx(290 + 4 * 300 + 5)
    assert seconds_of(free, 300, 100, 29.0) == 0.0
    assert seconds_of(quota(allowed=None, window=None), 10, 10, 5.0) == 117.0


def test_time_in_words() -> None:
    assert [clock(s) for s in (0.0, 41.2, 112.0)] == ["0:00", "0:42", "1:52"]
    assert [spoken(s) for s in (59.0, 1500.0, 12_600.0)] == ["0:59", "about 25 min", "about 3.5 h"]


def test_a_throttle_knows_its_quotas() -> None:
    now = [100.0]
    throttle = Throttle(clock=lambda: now[0])
    policy = '"fixed window";"api";q=500;w=300'
    throttle.note("api", {"ratelimit": '"api";r=499;t=290', "ratelimit-policy": policy})
    assert throttle.quotas() == [QuotaUse("api", 1, 0.0, 500, 300.0, 499, 290.0)]
    throttle.block("api", 55.0)
    now[0] += 10
    assert throttle.quotas()[0].blocked == 45.0
    now[0] += 400  # a new window
    assert throttle.quotas()[0].remaining == 500


def test_the_end_sums_up_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = shown_on(monkeypatch)
    progress = ScanProgress(3)
    for row in (ROW, FAILED, FAILED, {**FAILED, "error_kind": "offline"}):
        progress.add(row)
    progress.finish()
    assert screen.getvalue().splitlines()[-1] == "3 of 4 failed: 2 gated, 1 offline"


@pytest.mark.parametrize("format_", ["jsonl", "csv"])
def test_a_second_start_does_not_delete_rows(tmp_path: Path, format_: str) -> None:
    (tmp_path / "list").write_text("./a\n./b\n")
    command = ("scan", "list", "-f", format_, "-o", "out.txt", "--no-cache")
    assert hfinspect(*command, cwd=tmp_path).code == 1
    before = (tmp_path / "out.txt").read_bytes()
    done = hfinspect(*command, cwd=tmp_path)
    assert done.code == 2
    assert "error: out.txt: has 2 rows\nhint: --resume goes on" in done.err
    assert "--overwrite begins again" in done.err
    assert (tmp_path / "out.txt").read_bytes() == before
    assert hfinspect(*command, "--resume", cwd=tmp_path).code == 1
    assert hfinspect(*command, "--overwrite", cwd=tmp_path).code == 1
    assert (tmp_path / "out.txt").read_bytes() == before
    assert hfinspect(*command, "--resume", "--overwrite", cwd=tmp_path).code == 2


def test_a_file_of_another_kind_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("./a\n")
    (tmp_path / "notes.jsonl").write_text("my notes\n")
    done = hfinspect("scan", "list", "-o", "notes.jsonl", "--no-cache", cwd=tmp_path)
    assert (done.code, "is not the output of a scan" in done.err) == (2, True)
    assert (tmp_path / "notes.jsonl").read_text() == "my notes\n"


@pytest.mark.posix
def test_an_interrupt_says_how_to_go_on(scan: Scanner, tmp_path: Path) -> None:
    names = fill(scan.hub, 4)
    scan.hub.fail("stall", f"/api/models/{names[2]}", seconds=60)
    out = tmp_path / "out.jsonl"
    running = scan.start(scan.list_of(names), "-o", out, "--no-cache", "--jobs", "1")
    end = time.monotonic() + 20
    while time.monotonic() < end and (not out.exists() or out.read_bytes().count(b"\n") < 2):
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=20)
    assert running.returncode == 130
    assert f"interrupted: {out} has 2 rows; the same command with --resume goes on" in err
    assert [json.loads(line)["target"] for line in out.read_text().splitlines()] == names[:2]
