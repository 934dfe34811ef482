"""A source whose small reads are remembered in a header cache."""

import json
import re
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from ..core.hub_info import HubInfo
from ..core.nesting import loads
from ..core.refs import Origin
from ..errors import HfinspectError, NetworkError, OfflineError, RequestTimeoutError
from .header_cache import HeaderCache
from .layer import SourceLayer
from .pool import run_all
from .source import FileEntry, ParsedCache, Source

#: A size that no file has: it is not known.
_NO_SIZE: Final = (1 << 64) - 1
_HEAD = struct.Struct("<QI")
_PIECE = struct.Struct("<QQ")


class Segments:
    """What is known of a file: its size, if it was reported, and pieces of its bytes by offset."""

    def __init__(self, size: int | None = None) -> None:
        self.size = size
        self._pieces: dict[int, bytes] = {}

    def find(self, start: int, stop: int) -> bytes | None:
        """Bytes ``start`` to ``stop`` (fewer where the file ends); None if not all are known."""
        end = stop if self.size is None else min(stop, self.size)
        if end <= start:
            return b"" if self.size is not None else None
        for begin, data in self._pieces.items():
            if begin <= start and end <= begin + len(data):
                return data[start - begin : end - begin]
        return None

    def add(self, start: int, data: bytes) -> None:
        """Remember bytes; what they continue or overlap becomes one piece with them."""
        for begin, known in sorted(self._pieces.items()):
            if begin <= start + len(data) and start <= begin + len(known):
                del self._pieces[begin]
                first = min(begin, start)
                joined = bytearray(max(begin + len(known), start + len(data)) - first)
                joined[begin - first : begin - first + len(known)] = known
                joined[start - first : start - first + len(data)] = data
                start = first
                data = bytes(joined)
        self._pieces[start] = data

    def pack(self) -> bytes:
        """As bytes, for ``unpack``."""
        size = _NO_SIZE if self.size is None else self.size
        parts = [_HEAD.pack(size, len(self._pieces))]
        for start, data in sorted(self._pieces.items()):
            parts += [_PIECE.pack(start, len(data)), data]
        return b"".join(parts)

    @classmethod
    def unpack(cls, packed: bytes) -> "Segments | None":
        """What ``pack`` made; None where it was something else that did, as another version may."""
        if len(packed) < _HEAD.size:
            return None
        size, count = _HEAD.unpack_from(packed)
        segments = cls(None if size == _NO_SIZE else size)
        at = _HEAD.size
        for _ in range(count):
            data = at + _PIECE.size
            if data > len(packed):
                return None
            start, length = _PIECE.unpack_from(packed, at)
            at = data + length
            segments._pieces[start] = packed[data:at]
        return segments if at == len(packed) else None


class KnownList(NamedTuple):
    """The list of a model as it was kept: what ``CachingSource`` needs of it, and writes."""

    commit: str
    files: dict[str, FileEntry]
    hub: HubInfo | None
    is_public: bool

    def pack(self) -> bytes:
        """As bytes, for ``unpack``."""
        entries = [list(e) for e in self.files.values()]
        hub = None if self.hub is None else self.hub.to_dict()
        content = {"commit": self.commit, "files": entries, "hub": hub, "public": self.is_public}
        return json.dumps(content).encode()

    @classmethod
    def unpack(cls, packed: bytes | None) -> "KnownList | None":
        """What ``pack`` made; None where there is nothing, or something else, as another version
        may have kept: it is requested again."""
        try:
            content = loads(packed or b"null")
            hub = content.get("hub")  # not there in what earlier versions kept
            return cls(
                _text(content["commit"]),
                {_text(path): FileEntry(path, *known) for path, *known in content["files"]},
                None if hub is None else HubInfo(**{**hub, "tags": tuple(hub["tags"])}),
                content.get("public") is True,
            )
        except (ValueError, TypeError, LookupError, AttributeError):
            return None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("is not text")
    return value


T = TypeVar("T")

#: A revision that never means something else.
_FULL_COMMIT = re.compile(r"[0-9a-f]{40}")

#: Reads at once of a model whose list is known: most of them, or all, are answered here.
_AT_ONCE: Final = 16
#: So many are not worth a thread.
_FEW: Final = 3

#: The owner of entries that anybody may read.
EVERYBODY: Final = "everybody"


class CachingSource(SourceLayer):
    """``inner`` with its reads remembered (see ``Source``).

    An entry belongs to one endpoint and one repo: what one server says of a file, even its hash,
    does not name another's. Of a model that not everybody may read it also belongs to the token
    that it was read with, and is of no use without that one, with a network or without.

    The Hub is still asked which commit a revision is: one request; none where the revision is a
    full commit hash whose list is known, for a commit does not change. Everything below that commit
    comes from the cache if it was read before.  Where the Hub is out of reach, the commit last seen
    for the revision is taken. Where the Hub was not asked, the origin says ``cache``.
    """

    def __init__(self, inner: Source, cache: HeaderCache, place: str) -> None:
        super().__init__(inner)
        self.cache = cache
        self.place = place
        self._owner: str | None = None
        self._origin: Origin | None = None
        self._out_of_reach = False
        self._seen = False
        self._files: Mapping[str, FileEntry] | None = None
        self._segments: dict[str, Segments] = {}
        self._unwritten: dict[str, bytes] = {}
        self._lock = threading.Lock()

    @property
    def origin(self) -> Origin:
        return self._origin or self.inner.origin

    def list_files(self) -> Mapping[str, FileEntry]:
        if self._files is None and _FULL_COMMIT.fullmatch(self.inner.origin.revision or ""):
            self._files = self._cached_list()
        if self._files is None:
            try:
                self._files = self.inner.list_files()
                self._owner = self._owner_now()
                self._cache_list(self._files)
            except (OfflineError, NetworkError, RequestTimeoutError):
                files = self._cached_list()
                if files is None:
                    raise
                self._files = files
                self._out_of_reach = True
        return self._files

    @property
    def is_near(self) -> bool:
        """A commit whose list is known costs what it cost at first, for whatever was not read."""
        return self._out_of_reach if self._origin is not None else self.inner.is_near

    @property
    def listing_complete(self) -> bool:
        """Whether ``list_files`` is known to name all files of the commit."""
        self.list_files()
        return self._origin is not None or self.inner.listing_complete

    @property
    def passed_over(self) -> Mapping[str, str]:
        """Nothing where the list was kept: it is that of the Hub."""
        self.list_files()
        return {} if self._origin is not None else self.inner.passed_over

    def _owner_now(self) -> str:
        """Whose the entries are: everybody's for what is public, and for what was read without a
        token; else those of the token."""
        reader = self.inner.reader_id()
        return EVERYBODY if reader is None or self.inner.is_public() else reader

    def _list_key(self, owner: str) -> str:
        origin = self.inner.origin
        return f"list {self.place} {origin.repo_id} {owner} {origin.revision or 'main'}"

    def _cache_list(self, files: Mapping[str, FileEntry]) -> None:
        origin = self.inner.origin
        if origin.kind == "hub" and origin.commit:
            known = KnownList(origin.commit, dict(files), origin.hub, self.inner.is_public())
            payload = known.pack()
            key = self._list_key(self._owner or EVERYBODY)
            self._seen = self.cache.get(key) == payload
            if not self._seen:
                self.cache.put(key, payload)

    def _cached_list(self) -> Mapping[str, FileEntry] | None:
        self._owner = EVERYBODY
        known_list = KnownList.unpack(self.cache.get(self._list_key(EVERYBODY)))
        # Of what is not public everybody may have the list, and its reader the files.
        reader = None if known_list and known_list.is_public else self.inner.reader_id()
        packed = None if reader is None else self.cache.get(self._list_key(reader))
        if (owned := KnownList.unpack(packed)) is not None:
            self._owner = reader
            known_list = owned
        if known_list is None:
            return None
        origin = self.inner.origin
        self._origin = Origin(
            "cache",
            origin.name,
            origin.repo_id,
            origin.revision,
            known_list.commit,
            hub=known_list.hub,
        )
        return known_list.files

    def size(self, path: str) -> int:
        known = self.known_size(path)
        return self.inner.size(path) if known is None else known

    def known_size(self, path: str) -> int | None:
        """Size of a file if it is known without a request, and was reported already.

        A list may come without sizes; then the answers to ranges have them.
        """
        entry = self.list_files().get(path)
        size = None if entry is None else entry.size
        return self._segments_of(path).size if size is None else size

    def read(self, path: str, start: int, stop: int) -> bytes:
        return self.read_spans(path, [(start, stop)])[0]

    def read_spans(self, path: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        segments = self._segments_of(path)
        with self._lock:
            known = {span: segments.find(*span) for span in spans}
        missing = [span for span, data in known.items() if data is None]
        if missing:
            known.update(zip(missing, self._read_inner(path, missing), strict=True))
            self._keep(path, segments, {span: known[span] or b"" for span in missing})
        return [known[span] or b"" for span in spans]

    def locate(self, path: str, stop: int) -> int:
        """As of ``HubSource``; nothing for what was read before."""
        segments = self._segments_of(path)
        with self._lock:
            known = segments.find(0, 1) is not None
        return 0 if known else self.inner.locate(path, stop)

    def _read_inner(self, path: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        if len(spans) == 1:
            return [self.inner.read(path, *spans[0])]
        return self.inner.read_spans(path, spans)

    def _keep(self, path: str, segments: Segments, parts: Mapping[tuple[int, int], bytes]) -> None:
        key = self._key(path, "ranges")
        with self._lock:
            if segments.size is None:
                segments.size = self.inner.known_size(path)
            for (start, _), data in parts.items():
                segments.add(start, data)
            if key is not None:
                self._unwritten[key] = segments.pack()

    def flush(self) -> None:
        """Write what was read, but for what something was made of that is kept in its place."""
        with self._lock:
            unwritten = self._unwritten
            self._unwritten = {}
        for key, packed in unwritten.items():
            self.cache.put(key, packed)

    @property
    def parsed_cache(self) -> ParsedCache:
        return self

    def load_parsed(self, path: str, what: str, *, of_commit: bool = False) -> bytes | None:
        key = self._key(path, what, of_commit=of_commit)
        return None if key is None else self.cache.get(key)

    def store_parsed(
        self,
        path: str,
        what: str,
        parsed: bytes,
        *,
        of_commit: bool = False,
        instead_of: Sequence[str] = (),
    ) -> None:
        key = self._key(path, what, of_commit=of_commit)
        if key is not None:
            self.cache.put(key, parsed)
            ranges = [self._key(file, "ranges") for file in (path, *instead_of)]
            with self._lock:
                for name in ranges:
                    self._unwritten.pop(name or "", None)

    def _segments_of(self, path: str) -> Segments:
        with self._lock:
            segments = self._segments.get(path)
        if segments is not None:
            return segments
        key = self._key(path, "ranges")
        packed = None if key is None else self.cache.get(key)
        segments = (Segments.unpack(packed) if packed is not None else None) or Segments()
        with self._lock:
            return self._segments.setdefault(path, segments)

    def read_all(self, path: str, limit: int) -> bytes:
        key = self._key(path, f"all {limit}")
        return self._through(key, lambda: self.inner.read_all(path, limit))

    def shard_headers(
        self, index_file: str, come: Callable[[int], None] | None = None
    ) -> Mapping[str, bytes | Mapping[str, object]] | None:
        self.list_files()
        if self._origin is not None:
            return None  # the Hub has those of a branch alone, and nobody was asked about one
        return self.inner.shard_headers(index_file, come)

    def gather(self, tasks: Sequence[Callable[[], T]]) -> list[T | HfinspectError]:
        if self._out_of_reach:  # nothing waits for a network
            return run_all(tasks, 1)
        if self._origin is not None or self._seen:  # few of them wait for a network, or none
            return run_all(tasks, _AT_ONCE if len(tasks) > _FEW else 1)
        return self.inner.gather(tasks)

    def close(self) -> None:
        self.flush()
        self.inner.close()

    def _key(self, path: str, what: str, *, of_commit: bool = False) -> str | None:
        """By content where the Hub reports its hash, so that a new commit of the repo keeps what it
        did not change; else, or for what is of a whole commit, by that. None if neither is known.
        """
        entry = self.list_files().get(path)
        if self._origin is None and self.inner.origin.kind != "hub":
            return None  # it lies on this machine already
        of = f"{self.place} {self.origin.repo_id} {self._owner or EVERYBODY}"
        if entry is not None and entry.sha256 and not of_commit:
            return f"sha256 {of} {entry.sha256} {what}"
        commit = self.origin.commit
        return f"commit {of} {commit} {what} {path}" if commit else None

    def _through(self, key: str | None, fetch: Callable[[], bytes]) -> bytes:
        if key is None:
            return fetch()
        data = self.cache.get(key)
        if data is None:
            data = fetch()
            self.cache.put(key, data)
        return data
