"""The engine: order, bounds, values for errors, any executor."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

import hfinspect
from hfinspect import errors
from hfinspect.api import Target
from hfinspect.core.results import Failure, Inspection
from hfinspect.scanning.engine import ScanOptions, close_shared, run, shared
from hfinspect.scanning.row_work import Item, rows
from hfinspect.scanning.rows import lead
from hfinspect.sources.threads import DaemonThreads

from ..builders import write_config, write_safetensors
from ..hub_server import HubServer
from .scan_support import CONFIG, PARAMETERS, fill


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    close_shared()


def gone(item: object, error: BaseException) -> str:
    return f"lost {item} {error}"


def test_results_come_in_order_and_calls_in_order_of_completion() -> None:
    go_on = threading.Event()

    def work(item: int) -> str:
        if item == 0:
            go_on.wait(10)
        if item == 5:
            raise ValueError("five")
        return f"did {item}"

    seen: list[tuple[int, bool]] = []

    def on_result(item: int, _result: str, early: bool) -> None:
        seen.append((item, early))
        if item == 7:
            go_on.set()

    results = list(run(range(8), work, gone, jobs=4, on_result=on_result))
    assert results == [f"did {i}" if i != 5 else "lost 5 five" for i in range(8)]
    assert seen[-1] == (0, False)
    assert all(early for _, early in seen[:-1])


def test_no_more_is_taken_than_may_wait() -> None:
    """The list is read as results are taken: it may be endless."""
    taken: list[int] = []

    def endless() -> Iterator[int]:
        for number in range(10**9):
            taken.append(number)
            yield number

    running = run(endless(), str, gone, jobs=2, window=10)
    assert [next(running) for _ in range(5)] == ["0", "1", "2", "3", "4"]
    assert len(taken) <= 15
    running.close()  # type: ignore[attr-defined]


def test_one_that_hangs_holds_up_at_most_the_window() -> None:
    stop = threading.Event()
    done: list[int] = []

    def work(item: int) -> str:
        if item == 0:
            stop.wait(10)
        return str(item)

    def on_result(item: int, _result: str, _early: bool) -> None:
        done.append(item)
        if len(done) == 19:
            stop.set()

    results = list(run(range(100), work, gone, jobs=4, window=20, on_result=on_result))
    assert results == [str(number) for number in range(100)]
    assert 0 not in done[:19]


def test_leaving_early_waits_for_nobody() -> None:
    hung = threading.Event()

    def work(item: int) -> str:
        if item > 1:
            hung.wait(30)
        return str(item)

    running = run([1, 2, 3, 4], work, gone, jobs=2)
    begun = time.monotonic()
    assert next(running) == "1"
    running.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begun < 5
    hung.set()


def test_what_the_engine_cancels_is_a_value() -> None:
    class Cancelling(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    assert [text[:6] for text in run("ab", str, gone, executor=Cancelling())] == [
        "lost a",
        "lost b",
    ]


class Losing(Executor):
    """A worker that begins up to 8 at once and dies with all of them if one is to end it."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[tuple[Future[Any], Any]] = SimpleQueue()
        threading.Thread(target=self.serve, daemon=True).start()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.queue.put((future, args[0]))
        return future

    def serve(self) -> None:
        while True:
            begun = [self.queue.get()]
            time.sleep(0.001)  # what is submitted meanwhile is begun with it
            while len(begun) < 8 and not self.queue.empty():
                begun.append(self.queue.get())
            died = any(item.target.startswith("poison") for _, item in begun)
            for future, item in begun:
                if died:
                    future.set_exception(OSError("died"))
                else:
                    future.set_result(lead(item.target))


def test_what_ends_a_worker_costs_nothing_that_was_under_way_with_it() -> None:
    """Whatever a cluster loses at the first death: only what was alone is to blame."""
    names = [
        f"{'poison' if number in (3, 4, 70, 99) else 'org'}/m{number}" for number in range(100)
    ]
    done = list(rows(map(Item, names), lambda item: {}, (), jobs=8, executor=Losing()))
    assert [row["target"] for row in done] == names
    lost = [row["target"] for row in done if row["error_kind"] == "lost"]
    assert lost == [row["target"] for row in done if row["status"] != "ok"]
    assert lost == [name for name in names if name.startswith("poison")]


def test_threads_carry_results_errors_and_cancelling() -> None:
    pool = DaemonThreads(1)
    go_on = threading.Event()
    first = pool.submit(go_on.wait, 10)
    bad = pool.submit(int, "x")
    never = pool.submit(int, "1")
    never.cancel()
    last = pool.submit(int, "2")
    queued: list[Future[Any]] = [first, bad, last]
    go_on.set()
    assert (first.result(5), last.result(5), never.cancelled()) == (True, 2, True)
    assert isinstance(bad.exception(5), ValueError)
    pool.shutdown()
    assert all(future.done() for future in queued)
    assert pool.submit(int).cancel()  # nobody serves it any more


# ---- hfinspect.scan


def test_scan_gives_inspections_and_failures_in_order(hub: HubServer, tmp_path: Path) -> None:
    names = fill(hub, 3)
    write_config(tmp_path, CONFIG)
    targets: list[Target] = [names[2], tmp_path, "org/none", names[0], CONFIG]
    results = list(hfinspect.scan(targets, jobs=4, endpoint=hub.endpoint, token=False))
    assert [getattr(result, "parameters", None) for result in results] == [
        PARAMETERS,
        PARAMETERS,
        None,
        PARAMETERS,
        PARAMETERS,
    ]
    assert [getattr(result, "extra_parameters", None) for result in results] == [1, 0, None, 1, 0]
    failure = results[2]
    assert isinstance(failure, Failure)
    assert (failure.target, failure.kind) == ("org/none", "repo_not_found")


def test_one_client_serves_all(hub: HubServer) -> None:
    """Connections are kept alive and shared: 120 requests, four targets at once."""
    names = fill(hub, 30)
    assert len(list(hfinspect.scan(names, jobs=4, endpoint=hub.endpoint, token=False))) == 30
    assert len(hub.meter.requests) == 120
    assert hub.meter.connections["hub"] <= 12
    assert hub.meter.connections["cdn"] <= 4


def test_the_shared_client_is_made_once() -> None:
    options = ScanOptions(endpoint="http://127.0.0.1:9")
    begin = threading.Barrier(16)
    made: list[object] = []

    def ask() -> None:
        begin.wait(10)
        made.append(shared(options)[0])

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, made))) == 1


def test_other_processes_find_the_same(tmp_path: Path) -> None:
    """Inspections, failures and all their fields survive the way through a process pool."""
    write_config(tmp_path / "a", CONFIG)
    write_safetensors(tmp_path / "b" / "model.safetensors", {"x.weight": ("F32", (2, 2))})
    (tmp_path / "c").mkdir()
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "model.safetensors").write_bytes(b"\xff" * 100)
    targets = [tmp_path / name for name in "abcd"]
    here = list(hfinspect.scan(targets))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = list(hfinspect.scan(targets, executor=pool))
    assert [r.to_dict() for r in there] == [r.to_dict() for r in here]
    assert [type(result) for result in there] == [Inspection, Inspection, Failure, Failure]
    assert there[0] == here[0]


def test_options_do_not_show_the_token() -> None:
    """They are part of what engines log."""
    assert "hf_secret" not in repr(ScanOptions(token="hf_secret"))


def _errors() -> list[type[errors.HfinspectError]]:
    classes = [errors.HfinspectError]
    for cls in classes:
        classes += cls.__subclasses__()
    return classes


@pytest.mark.parametrize("cls", _errors(), ids=lambda cls: cls.__name__)
def test_errors_survive_pickling(cls: type[errors.HfinspectError]) -> None:
    extra = {"rule": "overlap"} if cls is errors.FormatError else {}
    error = cls("org/name", "is odd", expected="even", where="f", hint="try", **extra)
    again = pickle.loads(pickle.dumps(Failure("org/name", error)))
    assert again.to_dict() == Failure("org/name", error).to_dict()
    assert (type(again.error), vars(again.error)) == (cls, vars(error))
