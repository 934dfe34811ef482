"""Many reads at once."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..errors import HfinspectError
from .source import outcome
from .threads import DaemonThreads
from .waiting import result_of

T = TypeVar("T")


def run_all(tasks: Sequence[Callable[[], T]], workers: int) -> list[T | HfinspectError]:
    """Results of all tasks in their order; a task's HfinspectError is its result.

    Any other exception is raised at once, and tasks that have not begun are dropped; those that
    have are not waited for, so that Ctrl-C need not wait for a stalled server. Each call has
    threads of its own, so a task may itself call run_all. A thread that is not the main one, whose
    waits must hear Ctrl-C, does the last task itself.
    """
    if len(tasks) <= 1 or workers == 1:
        return [outcome(task) for task in tasks]
    helps = threading.current_thread() is not threading.main_thread()
    threads = DaemonThreads(min(workers, len(tasks)) - helps)
    try:
        futures = [threads.submit(outcome, task) for task in tasks[: len(tasks) - helps]]
        here = [outcome(tasks[-1])] if helps else []
        return [*(result_of(future) for future in futures), *here]
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
