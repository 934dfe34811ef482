"""A Dask cluster to run a scan on: one that is there, or one of this machine's own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ..errors import UsageError

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: Seconds for a scheduler to answer.
_CONNECT: Final = 5
#: A worker's threads wait for the network most of the time.
_THREADS: Final = 8
_MOST_WORKERS: Final = 8
#: How often a task that raised is tried elsewhere; tasks of a lost worker always are.
_RETRIES: Final = 3
_LOST_WORKER_SECONDS: Final = 86_400


@contextmanager
def executor_of(address: str | None) -> Iterator[Executor | None]:
    """The executor of the cluster at an address, or of a ``local`` one; None for None.

    Raises UsageError if Dask is not installed or nobody answers.
    """
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise UsageError("--dask", "needs Dask", hint="pip install 'hfinspect[dask]'") from None
    local = _local_cluster() if address == "local" else None
    try:
        client = Client(local or address, timeout=_CONNECT)
    except (OSError, ValueError) as error:
        raise UsageError("--dask", f"no scheduler at {address} ({error})") from None
    try:
        yield client.get_executor(retries=_RETRIES, pure=False)
    except KeyboardInterrupt:
        raise  # workers end with this process; closing would wait for those that are stalled
    except BaseException:
        _close(client, local)
        raise
    else:
        _close(client, local)


def workers_of(executor: Any) -> int:
    """How many workers the cluster of an executor has now; 1 for one that is still empty."""
    return max(len(executor._client.nthreads()), 1)


def _local_cluster() -> Any:
    """Workers on this machine. Ctrl-C is for this process alone, which then ends them."""
    import dask
    from distributed import LocalCluster

    # A cluster gives a worker up that is not there so many seconds after it died, even if it came
    # back and has died again.
    dask.config.set({"distributed.deploy.lost-worker-timeout": _LOST_WORKER_SECONDS})
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return LocalCluster(
            n_workers=min(os.cpu_count() or 1, _MOST_WORKERS),
            threads_per_worker=_THREADS,
            dashboard_address=None,
            silence_logs="CRITICAL",
        )
    finally:
        signal.signal(signal.SIGINT, before)


def _close(client: Any, local: Any) -> None:
    client.close()
    if local is not None:
        local.close()
