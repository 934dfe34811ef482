"""Models of the Hub that a question has opened, for the next ones about them: tabs of a page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from ..core.refs import ModelRef
from ..errors import HfinspectError
from ..sources.deadline import Deadline, Timeout
from ..sources.memoized import MemoizedSource
from ..sources.opening import Access
from ..sources.parsed_in_memory import ParsedInMemory

if TYPE_CHECKING:
    from ..sources.header_cache import HeaderCache

#: As many as one question is about.
MAX_OPEN: Final = 2
#: Seconds until a model is looked up anew: a branch may have moved.
MAX_AGE: Final = 300.0


class _OpenModel(NamedTuple):
    """A model that is open, as who asks, and since when."""

    ref: ModelRef
    token: str | None
    source: MemoizedSource
    since: float


class OpenModels:
    """What was read of the last models, by whom. Nothing is requested twice while it is there."""

    def __init__(
        self, endpoint: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._opened: list[_OpenModel] = []
        self._lock = Lock()

    def access(
        self,
        targets: Iterable[object],
        token: str | None,
        cache: HeaderCache | None = None,
        timeout: Timeout = None,
    ) -> Access:
        """Access as who has the token, with the models of the Hub open that targets name: as long
        as the last question about one may take. A local path is not among them, for its files may
        change; what is wrong with a name, the verb says."""
        access = Access(token, self._endpoint, timeout, cache=cache).started()
        sources = {}
        with self._lock:
            for target in targets:
                if isinstance(target, str) and target.strip():
                    with suppress(HfinspectError):
                        ref = access.resolve(target.strip())
                        if ref.path is None:
                            sources[ref] = self._source(ref, access, token)
        return replace(access, sources=sources)

    def _source(self, ref: ModelRef, access: Access, token: str | None) -> MemoizedSource:
        now = self._clock()
        young = [one for one in self._opened if now - one.since < MAX_AGE]
        model = next((one for one in young if (one.ref, one.token) == (ref, token)), None)
        if model is None:
            source = MemoizedSource(access.open(ref), ParsedInMemory())
            model = _OpenModel(ref, token, source, now)
        model.source.set_deadline(Deadline.of(access.timeout))
        others = [one for one in young if one is not model]
        self._opened = [*others[1 - MAX_OPEN :], model]
        return model.source
