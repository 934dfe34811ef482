"""One target, and no longer than its time, whatever holds it up."""

from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunningError
from typing import Final, TypeVar

from ..sources.deadline import Deadline
from ..sources.threads import start
from ..sources.waiting import result_of

T = TypeVar("T")

#: Seconds after the deadline for the reading to end by itself. What then still goes on knows no
#: time: a disk that is gone, a library that waits.
GRACE: Final = 2.0


def within(deadline: Deadline, call: Callable[[], T], subject: str) -> T:
    """What ``call`` returns. Raises what it raises, and RequestTimeoutError where it does not end;
    its thread is then left to itself, and nothing waits for it."""
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    start(run)
    while True:  # the deadline moves while a server asks us to wait
        left = deadline.left() + GRACE
        try:
            return result_of(answer, max(left, 0.0))
        except StillRunningError:
            if answer.done():
                return answer.result()
            if deadline.left() + GRACE <= 0:
                raise deadline.error(subject) from None
