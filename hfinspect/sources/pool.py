"""Many reads at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..errors import HfinspectError

T = TypeVar("T")


def run_all(tasks: Sequence[Callable[[], T]], workers: int) -> list[T | HfinspectError]:
    """Results of all tasks in their order; a task's HfinspectError is its result.

    Any other exception is raised, and tasks that have not begun are dropped. Each call has
    threads of its own, so a task may itself call run_all.
    """
    if len(tasks) <= 1:
        return [_result(task) for task in tasks]
    executor = ThreadPoolExecutor(min(workers, len(tasks)), thread_name_prefix="hfinspect-read")
    try:
        futures = [executor.submit(_result, task) for task in tasks]
        return [future.result() for future in futures]
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _result(task: Callable[[], T]) -> T | HfinspectError:
    try:
        return task()
    except HfinspectError as error:
        return error
