"""Reading many models at once, in bounded number, with one result each."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import field, fields
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .. import api
from ..core.choices import SOURCES, checked
from ..core.given_config import is_config
from ..core.memory_options import InferenceOptions, RowMemory
from ..core.option_field import called_with
from ..core.records import dataclass
from ..core.results import Failure, Inspection
from ..errors import HfinspectError, LostError, UsageError
from ..inspecting.build import Inspected
from ..inspecting.inspect_run import inspect_target, ready
from ..sources.deadline import Deadline
from ..sources.header_cache import DEFAULT_MAX_BYTES, HeaderCache
from ..sources.login import Session, login
from ..sources.opening import Access
from ..sources.threads import DaemonThreads
from ..sources.waiting import SLICE
from .time_limit import within

if TYPE_CHECKING:
    from ..core.footprint import Memory
    from ..sizing.memory_request import MemoryRequest
    from ..sources.hub.client import HubClient
    from ..sources.hub.model_info import Listing

R = TypeVar("R")

#: In the words of another library: an address with a password.
_PASSWORD = re.compile(r"//[^/@\s]+@")

#: Seconds that a scan waits for the server to lift a rate limit: a scan has time.
MAX_RATE_LIMIT_WAIT = 900.0


@dataclass(frozen=True)
class ScanOptions:
    """What every target is asked with. Plain data: it travels to other processes, but for a token
    that was given: those take their own, from their environment. ``timeout`` is in seconds for
    each target."""

    source: api.SourceChoice = "auto"
    token: str | bool | None = field(default=None, repr=False)
    endpoint: str | None = None
    timeout: float | None = None
    cache_dir: str | None = None
    cache_bytes: int = DEFAULT_MAX_BYTES

    def __getstate__(self) -> dict[str, Any]:
        """What travels: a secret does not go where schedulers keep and show their tasks."""
        state = self.__dict__.copy()
        if isinstance(self.token, str):
            state["token"] = None
        return state


@dataclass(frozen=True, kw_only=True)
class _ScanArguments:
    """Which models are scanned, and how they are reached."""

    targets: Iterable[api.Target] = field(kw_only=False)
    jobs: int = 16
    executor: Executor | None = None
    source: api.SourceChoice = "auto"
    token: str | bool | None = field(default=None, repr=False)
    session: Session | None = field(default=None, repr=False)
    endpoint: str | None = None
    timeout: float | None = None
    cache_dir: str | None = None


@dataclass(frozen=True, kw_only=True)
class ScanCall(_ScanArguments):
    """The arguments of ``scan`` where it is of what models are."""

    on: None = None
    context: None = None


@dataclass(frozen=True, kw_only=True)
class SizedScanCall(RowMemory, _ScanArguments):
    """All arguments of ``scan``: with some of memory it is of what models need."""


@overload
@called_with(ScanCall)
def scan(call: ScanCall) -> Iterator[Inspection | Failure]: ...
@overload
@called_with(SizedScanCall)
def scan(call: SizedScanCall) -> Iterator[Memory | Failure]: ...
@called_with(SizedScanCall)
def scan(call: SizedScanCall) -> Iterator[Inspection | Failure] | Iterator[Memory | Failure]:
    """Inspect many models: one result a target, in order, a ``Failure`` where it did not work.

    ``jobs`` targets are read at once over one shared client. ``executor`` is any
    ``concurrent.futures.Executor`` to run them on instead (processes, Dask's
    ``Client.get_executor()``); results are the same. Other processes are not given ``token``: each
    takes its own (HF_TOKEN, or the saved one). ``timeout`` is in seconds for each target (600 if
    None); one that is not done by then is a ``Failure``. ``cache_dir`` keeps headers between runs.

    With ``on`` (a device, ``"24GB"``) or ``context`` (tokens, ``"8k"``) the results are those of
    ``hfinspect.memory``: which models fit, and up to which context. ``batch``, ``engine`` and
    ``cache_dtype`` are its arguments too.

    Raises UsageError for a device, a context or another argument of memory that is none.
    """
    token, endpoint = login(call.session, call.token, call.endpoint)
    options = ScanOptions(call.source, token, endpoint, call.timeout, call.cache_dir)
    request = memory_request_of(call)
    if request is None:
        work: Callable[[Any], Any] = partial(inspect_one, options=options)
    else:
        work = partial(_size_one, options=options, request=request)

    def second(target: api.Target, error: BaseException) -> Any:
        return second_try(target, error, work, lost, call.executor)

    jobs = call.jobs
    return run(call.targets, work, second, jobs=jobs, executor=call.executor, window=4 * jobs)


def memory_request_of(options: RowMemory) -> MemoryRequest | None:
    """What is to be sized of each model; None where a scan is of what models are alone.

    Raises UsageError, also for choices that need a device or a context next to them.
    """
    chosen = {one.name: getattr(options, one.name) for one in fields(RowMemory)}
    if RowMemory(**chosen) == RowMemory():
        return None
    from ..sizing.memory_request import inference_request

    request = inference_request(InferenceOptions(**chosen))
    if options.on is None and options.context is None:
        raise UsageError(
            "batch, engine and cache dtype", "are about memory", expected="a device or a context"
        )
    return request


def inspect_one(
    target: api.Target, options: ScanOptions, listing: Listing | None = None
) -> Inspection | Failure:
    """One target, with the process's shared client and in its time; an error of ours is a value."""
    row = _in_time(target, options, listing)
    return row if isinstance(row, Failure) else row.inspection


def _size_one(target: api.Target, options: ScanOptions, request: MemoryRequest) -> Memory | Failure:
    from .memory_rows import sized

    row = _in_time(target, options, None, unsized=request.device is not None)
    return row if isinstance(row, Failure) else sized(row, request)


def _in_time(
    target: api.Target, options: ScanOptions, listing: Listing | None, *, unsized: bool = False
) -> Inspected | Failure:
    deadline = Deadline(options.timeout)
    name = name_of(target)
    work = partial(inspected, target, options, listing, deadline, unsized=unsized)
    try:
        return within(deadline, work, name)
    except HfinspectError as error:
        return Failure(name, error)


def inspected(
    target: api.Target,
    options: ScanOptions,
    listing: Listing | None,
    deadline: Deadline,
    *,
    unsized: bool = False,
) -> Inspected | Failure:
    """One target, with what its result was made from, until the deadline as far as the network is
    concerned."""
    client, cache = shared(options)
    access = Access(None, options.endpoint, deadline, client, cache, listing)
    try:
        checked("source", options.source, SOURCES)
        return inspect_target(target, access, source=options.source, unsized=unsized)
    except HfinspectError as error:
        return Failure(name_of(target), error)


_shared: dict[ScanOptions, tuple[HubClient, HeaderCache | None]] = {}
_shared_lock = threading.Lock()


def shared(options: ScanOptions) -> tuple[HubClient, HeaderCache | None]:
    """The client and cache of this process for these options, made by whoever asks first."""
    with _shared_lock:
        if options not in _shared:
            _shared[options] = _made(options)
        return _shared[options]


def client_of(options: ScanOptions) -> HubClient | None:
    """The client of a scan that is running; None before its first target."""
    known = _shared.get(options)
    return known[0] if known is not None else None


def close_shared() -> None:
    """Close the connections that scans of this process keep; a later scan opens new ones."""
    with _shared_lock:
        sources = list(_shared.values())
        _shared.clear()
    for client, _ in sources:
        client.close()


def _made(options: ScanOptions) -> tuple[HubClient, HeaderCache | None]:
    from ..sources.hub.client import HubClient
    from ..sources.hub.throttle import RetryPolicy, Throttle

    ready()
    client = HubClient(
        endpoint=options.endpoint,
        token=options.token,
        throttle=Throttle(RetryPolicy(max_wait=MAX_RATE_LIMIT_WAIT)),
    )
    cache = HeaderCache(options.cache_dir, options.cache_bytes) if options.cache_dir else None
    return client, cache


def name_of(target: object) -> str:
    """A target as rows and failures name it: a config has no name."""
    return "config" if is_config(target) else str(target)


def lost(target: object, error: BaseException) -> Failure:
    """The failure of a target whose worker raised what no target raises."""
    message = _PASSWORD.sub("//***@", str(error))
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    name = name_of(target)
    return Failure(
        name, LostError(name, f"the engine lost it ({text})", hint="try it alone; please report it")
    )


def second_try(
    item: Any,
    error: BaseException,
    work: Callable[[Any], R],
    lost: Callable[[Any, BaseException], R],
    executor: Executor | None,
) -> R:
    """``work`` of an item that an executor lost, while nothing else is under way: a worker that
    dies takes all with it that it had begun, and one alone ends it. Only that one is lost."""
    if executor is None:
        return lost(item, error)
    finished: SimpleQueue[Future[R]] = SimpleQueue()
    try:
        executor.submit(work, item).add_done_callback(finished.put)
        return _next_finished(finished).result()
    except Exception as second:
        return lost(item, second)


def _next_finished(finished: SimpleQueue[Future[R]]) -> Future[R]:
    """The next one that is done, for which it waits; Ctrl-C comes at once."""
    while True:
        with suppress(Empty):
            return finished.get(timeout=SLICE)


def run(
    items: Iterable[Any],
    work: Callable[[Any], R],
    lost: Callable[[Any, BaseException], R],
    *,
    jobs: int = 16,
    executor: Executor | None = None,
    window: int | None = None,
    on_result: Callable[[Any, R, bool], None] | None = None,
) -> Iterator[R]:
    """``work`` of every item, in order of the items.

    At most ``2 * jobs`` are under way and ``window`` may be finished ahead of the oldest that is
    not, so memory stays flat however long the list. ``on_result(item, result, out_of_order)``
    is called in order of completion; ``out_of_order`` says that an older item is not finished yet.
    An exception of ``work`` becomes ``lost(item, exception)``; with an ``executor``, that may have
    lost more than one, it is called when nothing is under way, and nothing is begun before.
    """
    pool = executor or DaemonThreads(jobs)
    most_ahead = window or 32 * jobs
    pending: dict[Future[R], tuple[int, Any]] = {}
    raised: deque[tuple[int, Any, Exception]] = deque()
    ended: SimpleQueue[Future[R]] = SimpleQueue()
    results: dict[int, R] = {}
    submitted = 0
    yielded = 0
    source = iter(items)
    exhausted = False
    try:
        while True:
            while (
                not (exhausted or raised)
                and len(pending) < 2 * jobs
                and submitted - yielded < most_ahead
            ):
                try:
                    item = next(source)
                except StopIteration:
                    exhausted = True
                    break
                future = pool.submit(work, item)
                pending[future] = (submitted, item)
                future.add_done_callback(ended.put)
                submitted += 1
            if pending and (executor is not None or not raised):
                future = _next_finished(ended)
                index, item = pending.pop(future)
                try:
                    result = future.result()
                except Exception as error:
                    raised.append((index, item, error))
                    continue
                finally:
                    del future  # or a cluster that loses the result makes it again
            elif raised:
                index, item, reason = raised.popleft()
                result = lost(item, reason)
            else:
                return
            results[index] = result
            if on_result is not None:
                on_result(item, result, index > yielded)
            while yielded in results:
                yield results.pop(yielded)
                yielded += 1
    finally:
        for future in pending:
            future.cancel()
        if executor is None:
            # Not waited for: a stalled target must not hold up Ctrl-C.
            pool.shutdown(wait=False, cancel_futures=True)
