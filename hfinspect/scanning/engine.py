"""Asking for many models at once, in bounded number, with one result each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from .. import api
from ..core.results import Failure, Inspection
from ..errors import HfinspectError, LostError
from ..sources.header_cache import DEFAULT_MAX_BYTES, HeaderCache

if TYPE_CHECKING:
    from ..sources.hub_client import HubClient

R = TypeVar("R")

#: Seconds that a scan waits for the server to lift a rate limit: a scan has time.
MAX_RATE_LIMIT_WAIT = 900.0


@dataclass(frozen=True)
class ScanOptions:
    """What every target is asked with. Plain data: it travels to other processes."""

    source: api.SourceChoice = "auto"
    token: str | bool | None = None
    endpoint: str | None = None
    timeout: float | None = None
    cache_dir: str | None = None
    cache_bytes: int = DEFAULT_MAX_BYTES


def scan(
    targets: Iterable[api.Target],
    *,
    jobs: int = 16,
    executor: Executor | None = None,
    source: api.SourceChoice = "auto",
    token: str | bool | None = None,
    endpoint: str | None = None,
    timeout: float | None = None,
    cache_dir: str | None = None,
) -> Iterator[Inspection | Failure]:
    """Inspect many models: one result a target, in order, a ``Failure`` where it did not work.

    ``jobs`` targets are asked for at once over one shared client. ``executor`` is any
    ``concurrent.futures.Executor`` to run them on instead (processes, Dask's
    ``Client.get_executor()``); results are the same. ``cache_dir`` keeps headers between runs.
    """
    options = ScanOptions(source, token, endpoint, timeout, cache_dir)
    work = partial(inspect_one, options=options)
    return run(targets, work, lost, jobs=jobs, executor=executor, window=2 * jobs)


def inspect_one(target: api.Target, options: ScanOptions) -> Inspection | Failure:
    """One target, with the process's shared client; an error of ours is a value."""
    client, cache = shared(options)
    try:
        return api.inspect(
            target,
            source=options.source,
            endpoint=options.endpoint,
            client=client,
            cache=cache,
        )
    except HfinspectError as error:
        return Failure(str(target), error)


@lru_cache(maxsize=4)
def shared(options: ScanOptions) -> tuple[HubClient, HeaderCache | None]:
    """The client and cache of this process for these options."""
    from ..sources.hub_client import HubClient
    from ..sources.hub_throttle import RetryPolicy, Throttle

    client = HubClient(
        endpoint=options.endpoint,
        token=options.token,
        timeout=options.timeout,
        throttle=Throttle(RetryPolicy(max_wait=MAX_RATE_LIMIT_WAIT)),
    )
    cache = HeaderCache(options.cache_dir, options.cache_bytes) if options.cache_dir else None
    return client, cache


def lost(target: Any, error: BaseException) -> Failure:
    """The failure of a target whose worker raised what no target raises."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Failure(
        str(target),
        LostError(
            str(target), f"the engine lost it ({text})", hint="try it alone; please report it"
        ),
    )


def run(
    items: Iterable[Any],
    work: Callable[[Any], R],
    lost: Callable[[Any, BaseException], R],
    *,
    jobs: int = 16,
    executor: Executor | None = None,
    window: int | None = None,
    on_result: Callable[[int, R], None] | None = None,
) -> Iterator[R]:
    """``work`` of every item, in order of the items.

    At most ``2 * jobs`` are under way and ``window`` may be finished ahead of the oldest that is
    not, so memory stays flat however long the list. ``on_result`` is called in order of
    completion. An exception of ``work`` becomes ``lost(item, exception)``.
    """
    pool = executor or ThreadPoolExecutor(jobs, thread_name_prefix="hfinspect-scan")
    ahead = window or 32 * jobs
    pending: dict[Future[R], tuple[int, Any]] = {}
    done: dict[int, R] = {}
    entered, given = 0, 0
    source = iter(items)
    exhausted = False
    try:
        while True:
            while not exhausted and len(pending) < 2 * jobs and entered - given < ahead:
                try:
                    item = next(source)
                except StopIteration:
                    exhausted = True
                    break
                pending[pool.submit(work, item)] = (entered, item)
                entered += 1
            if not pending:
                return
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                index, item = pending.pop(future)
                error = future.exception()
                result = future.result() if error is None else lost(item, error)
                done[index] = result
                if on_result is not None:
                    on_result(index, result)
            while given in done:
                yield done.pop(given)
                given += 1
    finally:
        for future in pending:
            future.cancel()
        if executor is None:
            # Not waited for: a stalled target must not hold up Ctrl-C.
            pool.shutdown(wait=False, cancel_futures=True)
