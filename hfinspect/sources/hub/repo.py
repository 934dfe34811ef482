"""A model on the Hub, read by range and never downloaded.

The first answer pins the commit; every later read names it. A file costs one request to the Hub,
which either answers it or says where the bytes are, and one to that place; further ranges of the
same file go there directly.
"""

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar
from urllib.parse import quote

from ...core.records import dataclass
from ...errors import (
    EntryNotFoundError,
    HfinspectError,
    LimitError,
    MovedError,
    NetworkError,
    UnauthorizedError,
)
from ..deadline import Deadline
from ..file_reader import FileReader
from ..pool import run_all
from ..source import FileEntry, Origin, Source
from .client import GZIP, HubClient, Request, api_json
from .error_answers import RefusedError
from .hub_errors import RequestContext
from .model_info import MAX_LISTING_BYTES, Listing, check_repo_id, parse_listing
from .ready_headers import ask_shard_headers
from .wire.address import origin_text
from .wire.answer import Answer, BrokenAnswerError, RangePart, UnusableAnswerError
from .wire.http import IN_FLIGHT

T = TypeVar("T")

#: Of a range that begins behind the end, as every range of an empty file does.
_PAST_THE_END = 416
_RANGE_STATUSES = frozenset({_PAST_THE_END})


@dataclass(frozen=True)
class _Elsewhere:
    """Where the Hub says a file's bytes are: an address signed for some minutes or hours."""

    url: str


class HubSource(Source):
    """One model on the Hub (see ``Source``).

    Pass a ``client`` to share connections and rate limits between many; else one is made from the
    other arguments and closed with the source. ``listing`` is the file list where it is known
    already. All requests end by the ``deadline``; without one each has the usual time of its own.
    Nothing is asked before the first method call.
    """

    def __init__(
        self,
        repo_id: str,
        revision: str | None = None,
        *,
        token: str | bool | None = None,
        endpoint: str | None = None,
        client: HubClient | None = None,
        listing: Listing | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        self.repo_id = repo_id
        self.revision = revision
        self._owns_client = client is None
        self.client = client or HubClient(endpoint=endpoint, token=token)
        self._lock = threading.Lock()
        self._listing = listing
        self._deadline = deadline
        self._elsewhere: dict[str, _Elsewhere] = {}
        self._fronts: dict[str, RangePart] = {}
        self._sizes: dict[str, int] = {}

    @property
    def origin(self) -> Origin:
        listing = self._listing
        commit, info = (listing.commit, listing.info) if listing else (None, None)
        return Origin("hub", self.repo_id, self.repo_id, self.revision, commit, hub=info)

    def list_files(self) -> Mapping[str, FileEntry]:
        return self.listing().files

    def listing(self) -> Listing:
        """The file list, requested once; it pins the commit."""
        with self._lock:
            if self._listing is None:
                self._listing = self._ask_listing()
            return self._listing

    def _ask_listing(self) -> Listing:
        context = self.context_of(None)
        check_repo_id(context)
        url = f"{self.client.endpoint}/api/models/{self.repo_id}"
        if self.revision is not None:
            url += f"/revision/{quote(self.revision, safe='')}"

        def handle(answer: Answer) -> Listing:
            return parse_listing(api_json(answer, MAX_LISTING_BYTES), self.repo_id)

        request = Request(f"{url}?blobs=true", context, "api", GZIP, deadline=self._deadline)
        return self.client.fetch(request, handle)

    def size(self, path: str) -> int:
        size = self.known_size(path)
        if size is None:  # a mirror whose list has no sizes; Content-Range has them
            self.read(path, 0, 1)
            size = self._sizes.get(path)
        if size is None:
            raise NetworkError(self.repo_id, "the server does not say the file's size", where=path)
        return size

    def known_size(self, path: str) -> int | None:
        """Size of a file if it is known without a request; raises EntryNotFoundError."""
        size = self._entry(path).size
        return self._sizes.get(path) if size is None else size

    def read(self, path: str, start: int, stop: int) -> bytes:
        size = self.known_size(path)
        start = max(start, 0)
        stop = stop if size is None else min(stop, size)
        if stop <= start:
            return b""
        front = self._fronts.pop(path, None) if start == 0 else None
        if front is not None and len(front.data) >= stop:
            return front.data[:stop]
        handle = partial(_file_part, path=path, start=start, stop=stop)
        part = self._fetch(path, _range(start, stop), handle)
        self._check_size(path, size, part.size)
        return part.data

    def locate(self, path: str, stop: int) -> int:
        """Find out where a file is that is to be read soon, from its beginning. A server that has
        it itself answers with its first ``stop`` bytes, which the next ``read`` takes: their
        number, else 0."""
        size = self.known_size(path)
        stop = stop if size is None else min(stop, size)
        if stop <= 0 or path in self._elsewhere:
            return 0
        front = self._resolve(
            path, _range(0, stop), partial(_file_part, path=path, start=0, stop=stop)
        )
        if isinstance(front, _Elsewhere):
            self._elsewhere[path] = front
            return 0
        self._check_size(path, size, front.size)
        self._fronts[path] = front
        return len(front.data)

    def _check_size(self, path: str, listed: int | None, served: int | None) -> None:
        if served is None:
            return
        if listed is not None and served != listed:
            place = self._elsewhere.get(path)
            server = origin_text(place.url) if place else self.context_of(path).server
            raise NetworkError(
                self.repo_id,
                f"{server} has {served:,} bytes",
                expected=f"{listed:,} as in the file list",
                where=path,
            )
        self._sizes[path] = served

    def set_deadline(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def read_spans(self, path: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        data: list[bytes] = []
        size = self.known_size(path)
        if len(spans) > 1 and size is not None and self.client.joins_ranges:
            parts = self._joined(path, [(start, min(stop, size)) for start, stop in spans])
            if len(parts) < len(spans):
                self.client.joins_ranges = False  # S3 by itself and simple proxies do not
            for part in parts:
                self._check_size(path, size, part.size)
                data.append(part.data)
        return data + [self.read(path, start, stop) for start, stop in spans[len(data) :]]

    def _joined(self, path: str, spans: Sequence[tuple[int, int]]) -> list[RangePart]:
        """Ranges that one request gives: fewer where the server does not do that, however it says
        so. What else may be wrong shows when they are read one by one."""
        ranges = ",".join(f"{start}-{stop - 1}" for start, stop in spans)
        headers = {"range": f"bytes={ranges}", "accept-encoding": "identity"}
        try:
            return self._fetch(path, headers, lambda answer: _file_parts(answer, path, spans))
        except (NetworkError, UnauthorizedError):
            return []

    def read_all(self, path: str, limit: int) -> bytes:
        size = self.known_size(path)
        if size is not None and size > limit:
            most = f"at most {limit:,} bytes"
            raise LimitError(self.repo_id, f"is {size:,} bytes", expected=most, where=path)

        def handle(answer: Answer) -> bytes:
            _refuse_page(answer, path)
            data = b"" if answer.status == _PAST_THE_END else answer.read_body(limit)
            if size is not None and len(data) != size:
                raise BrokenAnswerError(f"sent {len(data):,} of {size:,} bytes")
            listed = self._entry(path).sha256
            if listed is not None and hashlib.sha256(data).hexdigest() != listed:
                raise BrokenAnswerError("sent a file of another sha256 than it has listed")
            return data

        stop = limit + 1 if size is None else size
        bounded = self.client.has_bodies_whole and stop > 0
        return self._fetch(path, _range(0, stop) if bounded else GZIP, handle)

    def _fetch(self, path: str, headers: dict[str, str], handle: Callable[[Answer], T]) -> T:
        """What ``handle`` makes of a file's bytes, wherever they are."""
        for fresh in (False, True):
            place = None if fresh else self._elsewhere.get(path)
            if place is None:
                answer = self._resolve(path, headers, handle)
                if not isinstance(answer, _Elsewhere):
                    return answer
                place = self._elsewhere[path] = answer
            request = Request(
                place.url,
                self.context_of(path),
                "cdn",
                headers,
                _RANGE_STATUSES,
                deadline=self._deadline,
            )
            try:
                return self.client.fetch(request, handle)
            except RefusedError as error:
                # Most likely the signature has expired: request a new one, once.
                host = origin_text(place.url)
                refused = error
        ours = UnauthorizedError(
            self.context_of(path).subject,
            f"the storage host {host} refuses access ({refused.status})",
            where=path,
            hint="try again; if it fails again, this network cannot reach the file",
        )
        ours.server_said = refused.message
        raise ours from refused

    def _resolve(
        self, path: str, headers: dict[str, str], handle: Callable[[Answer], T]
    ) -> T | _Elsewhere:
        listing = self.listing()
        revision = quote(listing.commit or self.revision or "main", safe="")
        url = f"{self.client.endpoint}/{listing.repo_id}/resolve/{revision}/{quote(path, safe='/')}"

        def on_hub(answer: Answer) -> T | _Elsewhere:
            self._check_commit(answer, path)
            target = answer.location
            if target is None:
                return handle(answer)
            answer.drain()
            return _Elsewhere(target)

        request = Request(
            url, self.context_of(path), "resolve", headers, _RANGE_STATUSES, deadline=self._deadline
        )
        return self.client.fetch(request, on_hub)

    def _check_commit(self, answer: Answer, path: str) -> None:
        served = answer.headers.get("x-repo-commit")
        pinned = self.listing().commit
        if served and pinned and served != pinned:
            raise MovedError(
                self.repo_id,
                f"the server read commit {served[:40]}",
                expected=f"{pinned}, which was listed",
                where=path,
                hint="the model changed while it was read; try again",
            )

    def shard_headers(
        self, index_file: str, come: Callable[[int], None] | None = None
    ) -> Mapping[str, Mapping[str, object]] | None:
        """All safetensors headers that an index names, in one answer, or None.

        The Hub has them for ``main`` only, and for its head, whatever that is by then: they count
        only if the head is (still) the pinned commit. Mirrors do not have them at all.
        """
        listing = self.listing()
        if self.revision not in (None, "main") or index_file not in listing.files:
            return None
        return ask_shard_headers(
            self.client, listing, self.context_of(index_file), index_file, self._deadline, come
        )

    def reader(self, path: str) -> FileReader:
        """One file as the header formats read it."""
        self._entry(path)
        return FileReader(self, path)

    def gather(self, tasks: Sequence[Callable[[], T]]) -> list[T | HfinspectError]:
        # Twice as many threads as there are slots: one set waits for the Hub to say where a file
        # is, the other for the bytes.
        try:
            return run_all(tasks, 2 * IN_FLIGHT)
        except BaseException:
            if self._deadline is not None:  # Ctrl-C: those under way need not try again
                self._deadline.cancel()
            raise

    def close(self) -> None:
        if self._owns_client:
            self.client.close()

    def _entry(self, path: str) -> FileEntry:
        entry = self.listing().files.get(path)
        if entry is None:
            raise self.no_such_file(path)
        return entry

    def reader_id(self) -> str | None:
        return self.client.reader()

    def is_public(self) -> bool:
        return self.listing().is_public

    def no_such_file(self, path: str) -> EntryNotFoundError:
        return EntryNotFoundError(self.context_of(path).subject, f"has no file {path}")

    def context_of(self, path: str | None) -> RequestContext:
        """What a request about a file, or about the model, is for."""
        return self.client.context_of(self.repo_id, self.revision, path)


def _range(start: int, stop: int) -> dict[str, str]:
    """The headers of a request for some bytes."""
    return {"range": f"bytes={start}-{stop - 1}", "accept-encoding": "identity"}


def _file_part(answer: Answer, path: str, start: int, stop: int) -> RangePart:
    _refuse_page(answer, path)
    return answer.part(start, stop)


def _file_parts(answer: Answer, path: str, spans: Sequence[tuple[int, int]]) -> list[RangePart]:
    _refuse_page(answer, path)
    return answer.parts(spans)


def _refuse_page(answer: Answer, path: str) -> None:
    if answer.is_page and not path.endswith((".html", ".htm")):
        raise UnusableAnswerError("answered with a web page in place of the file")
