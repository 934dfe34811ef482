"""A model on the Hub whose files may lie in huggingface_hub's local cache already.

What is asked of whom:

- With the network allowed, the commit and the file list come from the Hub, one request; files of
  that commit that are in the cache at their full size are read there, others by range from the Hub.
- A full commit hash whose file list is in the cache needs no request: a commit does not change.
- With HF_HUB_OFFLINE=1 nothing is asked: the cache's own note of the revision gives the commit.
  The same where the Hub cannot be reached and the revision is in the cache.

A cache is often incomplete. Where it knows the commit's file list (``snapshot_download`` leaves
it), a file that is listed but absent is an OfflineError when read; where it does not,
``listing_complete`` is False and only what is there is listed.
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from stat import S_ISDIR
from typing import TypeVar

from ...core.paths import why_unsafe
from ...core.records import dataclass
from ...core.refs import OriginKind
from ...errors import (
    HfinspectError,
    NetworkError,
    OfflineError,
    RateLimitedError,
    RequestTimeoutError,
    UnreadableError,
)
from ..deadline import Deadline
from ..file_reader import FileReader
from ..local import LocalSource
from ..source import FileEntry, Origin, Source
from .model_info import check_repo_id, is_commit
from .repo import HubSource
from .settings import hub_constants

T = TypeVar("T")

_FULL_COMMIT = re.compile(r"[0-9a-f]{40}")

#: A ref file holds one commit hash.
_MAX_REF_BYTES = 100


@dataclass(frozen=True)
class _Opened:
    """A model once it is known which commit is read, and from where."""

    kind: OriginKind
    commit: str | None
    files: Mapping[str, FileEntry]
    complete: bool
    local: LocalSource | None
    online: bool

    def in_cache(self, path: str) -> bool:
        """Whether the cache has a file, whole."""
        if self.local is None:
            return False
        cached = self.local.list_files().get(path)
        listed = self.files.get(path)
        if cached is None or cached.size is None or listed is None:
            return False
        return listed.size is None or listed.size == cached.size


class CachedHubSource(Source):
    """One model on the Hub, read from the cache where possible (see ``Source``). ``cache_dir`` is
    huggingface_hub's (HF_HUB_CACHE) by default; the cache closes ``hub``."""

    def __init__(self, hub: HubSource, cache_dir: str | Path | None = None) -> None:
        self.hub = hub
        self._cache_dir = cache_dir
        self._lock = threading.Lock()
        self._state: _Opened | None = None

    @property
    def origin(self) -> Origin:
        """``kind`` is ``cache`` where the Hub did not say the commit; ``path`` the snapshot's."""
        state = self._state
        if state is None:
            return self.hub.origin
        path = str(state.local.root) if state.local else None
        return replace(self.hub.origin, kind=state.kind, commit=state.commit, path=path)

    @property
    def is_near(self) -> bool:
        """Whether the Hub is not asked, but for what the cache lacks of a commit that it lists."""
        return self.origin.kind != "hub"

    @property
    def listing_complete(self) -> bool:
        """Whether ``list_files`` is known to name all files of the commit."""
        return self._opened().complete

    @property
    def passed_over(self) -> Mapping[str, str]:
        """Folders of the snapshot that are not listed, where it alone says what there is."""
        state = self._opened()
        return state.local.passed_over if state.local and not state.complete else {}

    def list_files(self) -> Mapping[str, FileEntry]:
        return self._opened().files

    def size(self, path: str) -> int:
        known = self.known_size(path)
        return self.hub.size(path) if known is None else known

    def known_size(self, path: str) -> int | None:
        """Size of a file if it is known without a request; raises EntryNotFoundError."""
        state = self._opened()
        if state.local is not None and state.in_cache(path):
            return state.local.size(path)
        if path in state.files and (state.files[path].size is not None or not state.online):
            return state.files[path].size
        return self._from_hub(state, path).known_size(path)

    def read(self, path: str, start: int, stop: int) -> bytes:
        state = self._opened()
        if state.local is not None and state.in_cache(path):
            return state.local.read(path, start, stop)
        return self._from_hub(state, path).read(path, start, stop)

    def locate(self, path: str, stop: int) -> int:
        """As of ``HubSource``; nothing for what is in the cache."""
        state = self._opened()
        is_here = state.local is not None and state.in_cache(path)
        return 0 if is_here else self._from_hub(state, path).locate(path, stop)

    def set_deadline(self, deadline: Deadline) -> None:
        self.hub.set_deadline(deadline)

    def read_spans(self, path: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        state = self._opened()
        if state.local is not None and state.in_cache(path):
            return state.local.read_spans(path, spans)
        return self._from_hub(state, path).read_spans(path, spans)

    def read_all(self, path: str, limit: int) -> bytes:
        state = self._opened()
        if state.local is not None and state.in_cache(path):
            return state.local.read_all(path, limit)
        return self._from_hub(state, path).read_all(path, limit)

    def reader_id(self) -> str | None:
        return self.hub.reader_id()

    def is_public(self) -> bool:
        """Whether everybody may read the model, as far as the Hub has said: False where it has
        not, or was not asked."""
        return self._opened().kind == "hub" and self.hub.is_public()

    def shard_headers(
        self, index_file: str, come: Callable[[int], None] | None = None
    ) -> Mapping[str, Mapping[str, object]] | None:
        state = self._opened()
        folder = index_file.rpartition("/")[0]
        beside = [
            path
            for path in state.files
            if path.endswith(".safetensors") and path.rpartition("/")[0] == folder
        ]
        if not state.online or all(state.in_cache(path) for path in beside):
            return None  # read them where they are
        return self.hub.shard_headers(index_file, come)

    def reader(self, path: str) -> FileReader:
        """One file as the header formats read it."""
        self.known_size(path)
        return FileReader(self, path)

    def gather(self, tasks: Sequence[Callable[[], T]]) -> list[T | HfinspectError]:
        state = self._opened()
        if state.local is not None and not state.online:
            return state.local.gather(tasks)
        return self.hub.gather(tasks)

    def close(self) -> None:
        self.hub.close()

    def _from_hub(self, state: _Opened, path: str) -> HubSource:
        """The Hub, if it may be asked about a file that the cache does not have."""
        if state.online:
            return self.hub
        subject = self.hub.context_of(path).subject
        if path in state.files or not state.complete:
            raise OfflineError(
                subject,
                f"{path} is not in the cache, and the Hub is out of reach",
                hint=f"with a network: hf download {self.hub.repo_id} {path}",
            )
        raise self.hub.no_such_file(path)

    def _opened(self) -> _Opened:
        with self._lock:
            if self._state is None:
                self._state = self._open()
            return self._state

    def _open(self) -> _Opened:
        check_repo_id(self.hub.context_of(None))
        revision = self.hub.revision or "main"
        online = not self.hub.client.offline
        if not online or _FULL_COMMIT.fullmatch(revision):
            opened = self._known(revision) if online else self._from_cache(revision, online=False)
            if opened is not None and (opened.complete or not online):
                return opened
        if not online:
            raise OfflineError(
                self.hub.context_of(None).subject,
                "is not in the cache, and the network is switched off",
                hint="unset HF_HUB_OFFLINE to fetch it",
            )
        try:
            listing = self.hub.listing()
        except (NetworkError, RequestTimeoutError, RateLimitedError):
            opened = self._known(revision, online=False)
            if opened is None:
                raise
            return opened
        local = None
        if listing.commit:
            with suppress(UnreadableError):  # somebody else's cache
                local = self._snapshot(listing.commit)
        return _Opened("hub", listing.commit, listing.files, True, local, online=True)

    def _known(self, revision: str, *, online: bool = True) -> _Opened | None:
        """The same as ``_from_cache``, where a cache that cannot be read is none."""
        try:
            return self._from_cache(revision, online=online)
        except UnreadableError:
            return None

    def _from_cache(self, revision: str, *, online: bool) -> _Opened | None:
        """The model at the commit that the cache has for a revision; None if it has none."""
        commit = self._cached_commit(revision)
        local = self._snapshot(commit) if commit else None
        if commit is None or local is None:
            return None
        listed = self._cached_tree(commit)
        files = {  # a link to a blob that is gone has no size
            path: entry for path, entry in local.list_files().items() if entry.size is not None
        }
        if listed is None:
            return _Opened("cache", commit, files, False, local, online)
        known = {path: _with_hash(entry, files.get(path)) for path, entry in listed.items()}
        return _Opened("cache", commit, known, True, local, online)

    def _folder(self) -> Path:
        constants = hub_constants()
        separator: str = constants.REPO_ID_SEPARATOR
        name = separator.join(["models", *self.hub.repo_id.split("/")])
        return Path(self._cache_dir or str(constants.HF_HUB_CACHE)) / name

    def _cached_commit(self, revision: str) -> str | None:
        if _FULL_COMMIT.fullmatch(revision):
            return revision
        if why_unsafe(revision):
            return None
        ref = self._folder() / "refs" / revision
        try:
            if not ref.is_file():
                return None
            with ref.open("rb") as file:
                commit = file.read(_MAX_REF_BYTES).decode("ascii", "replace").strip()
        except OSError as error:
            raise self._unreadable(error) from None
        return commit if is_commit(commit) else None

    def _unreadable(self, error: OSError) -> UnreadableError:
        return UnreadableError(self.hub.repo_id, "the cache cannot be read", hint=str(error))

    def _snapshot(self, commit: str) -> LocalSource | None:
        """The cache's files of a commit; None if there are none. Raises UnreadableError."""
        directory = self._folder() / "snapshots" / commit
        try:
            if not S_ISDIR(directory.stat().st_mode):
                return None
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._unreadable(error) from None
        local = LocalSource(directory)
        return local if local.list_files() else None

    def _cached_tree(self, commit: str) -> dict[str, FileEntry] | None:
        """The commit's file list as snapshot_download left it; None if there is none."""
        import huggingface_hub

        cached_tree = getattr(huggingface_hub, "get_cached_repo_tree", None)  # not in 1.0
        if cached_tree is None:
            return None
        try:
            tree = cached_tree(self.hub.repo_id, revision=commit, cache_dir=self._folder().parent)
        except huggingface_hub.errors.CachedRepoTreeNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(error) from None
        return {entry.path: FileEntry(entry.path, entry.size) for entry in tree}


def _with_hash(entry: FileEntry, cached: FileEntry | None) -> FileEntry:
    """The entry of a list without hashes, with the hash that the cached file is named by."""
    return entry if cached is None else entry._replace(sha256=cached.sha256)
