"""A directory or a single file on disk."""

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from ..core.paths import why_unsafe
from ..core.refs import OriginKind
from ..errors import EntryNotFoundError, HfinspectError, LimitError, UnreadableError
from .local_paths import refuse_outside
from .source import DiskSource, FileEntry, Origin, outcome

T = TypeVar("T")

#: The largest repos on the Hub have some ten thousand files; who points at a home directory should
#: hear of it instead of waiting.
MAX_FILES = 100_000

#: Diffusers nest two deep, training runs three.
MAX_DEPTH = 8

#: Why a folder is not in the listing.
HIDDEN = "what is hidden is searched for pickles alone"
DEEP = f"more than {MAX_DEPTH} folders deep"
OUTSIDE = "a link that leads out of the directory"

#: What may describe a single file that lies next to it.
COMPANIONS = tuple(
    """config.json adapter_config.json hf_quant_config.json quantize_config.json
    quantization_config.json""".split()
)

#: The layout of the Hub's local cache: the commit and the repo stand in the path, and the name of
#: a large file's blob is its sha256.
_SNAPSHOT = re.compile(r"models--([^/\\]+)[/\\]snapshots[/\\]([0-9a-f]{40})(?=[/\\]|$)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHA1 = re.compile(r"[0-9a-f]{40}")


class LocalSource(DiskSource):
    """Files below ``path``, or the file at ``path`` (see ``Source``).

    Symbolic links to files are followed wherever they lead, as the Hub's own cache consists of
    them; links to directories only within the root. Paths given to ``read`` come from file lists
    and indexes and may not leave the root. ``file`` is the name of the single file, or None.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._given = os.fspath(path)
        # os.path never raises here, pathlib does: what is wrong is said by the first method called.
        expanded = os.path.expanduser(self._given)  # noqa: PTH111
        is_folder = os.path.isdir(expanded)  # noqa: PTH112
        self.file = None if is_folder else Path(expanded).name
        self.root = Path(expanded) if is_folder else Path(expanded).parent
        # A path object for each of 100,000 files would take most of the time.
        self._start = os.path.join(os.fspath(self.root), "")  # noqa: PTH118
        self._listing: Mapping[str, FileEntry] | None = None
        self._origin: Origin | None = None
        self._refused: dict[str, HfinspectError] = {}
        self._passed_over: dict[str, str] = {}

    @property
    def origin(self) -> Origin:
        if self._origin is None:
            self._origin = self._whence()
        return self._origin

    @property
    def refused(self) -> Mapping[str, HfinspectError]:
        return self._refused

    @property
    def passed_over(self) -> Mapping[str, str]:
        """Folders below a directory that are not in its listing: path -> HIDDEN, DEEP or
        OUTSIDE."""
        return self._passed_over

    def _whence(self) -> Origin:
        kind: OriginKind = "directory" if self.file is None else "file"
        path = self.root / (self.file or "")
        with suppress(OSError):  # the working directory may be gone
            path = Path(os.path.abspath(path))  # noqa: PTH100 - links stay
        snapshot = _SNAPSHOT.search(os.fspath(path))
        repo_id = snapshot[1].replace("--", "/") if snapshot else None
        commit = snapshot[2] if snapshot else None
        return Origin(kind, self._given, repo_id, None, commit, os.fspath(path))

    def list_files(self) -> Mapping[str, FileEntry]:
        """Every file below the root, without directories that are hidden, too deep or outside
        (``passed_over`` has these) or may not be read (``refused``); for a single file that one,
        what describes it, and the directory's other files if it is an index of them.

        Raises EntryNotFoundError, UnreadableError, LimitError (more than MAX_FILES).
        """
        if self._listing is None:
            self._listing = self._list()
        return self._listing

    def _list(self) -> Mapping[str, FileEntry]:
        refuse_outside(self._given, self._start + (self.file or ""))
        if self.file is None:
            return {entry.path: entry for entry in self._walk(MAX_DEPTH)}
        self._stat(self.file)
        if self.file.endswith(".index.json"):
            return {entry.path: entry for entry in self._walk(0)}
        names = [self.file, *(name for name in COMPANIONS if name != self.file)]
        return {name: self._entry(name) for name in names if (self.root / name).is_file()}

    def _walk(self, depth: int) -> Iterator[FileEntry]:
        count = 0
        top = self._real(self.root)
        seen = {top}
        skipped: dict[str, tuple[str, str]] = {}
        todo = [("", 0)]
        while todo:
            directory, level = todo.pop()
            for entry in self._scan(directory):
                path = f"{directory}{entry.name}"
                count += 1
                if count > MAX_FILES:
                    raise LimitError(
                        self._given,
                        f"holds more than {MAX_FILES:,} files",
                        hint="name the directory of one model",
                    )
                if _is_directory(entry):
                    real = self._real(self.root / path)
                    inside = real == top or real.startswith(top.rstrip(os.sep) + os.sep)
                    hidden = entry.name.startswith(".")
                    if hidden or not inside or level >= depth:
                        why = HIDDEN if hidden else DEEP if inside else OUTSIDE
                        skipped[path] = (real, why)
                    elif real not in seen:
                        seen.add(real)
                        todo.append((f"{path}/", level + 1))
                elif _is_file(entry):
                    yield self._entry(path, is_link=entry.is_symlink())
        if self.file is None:  # what a link with another name leads to has been listed
            self._passed_over = {p: why for p, (real, why) in skipped.items() if real not in seen}

    def _scan(self, directory: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.root / directory) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            refused = self._own_error(error, directory.rstrip("/"))
            if not directory:
                raise refused from None
            self._refused[directory.rstrip("/")] = refused
            return []

    def _real(self, path: Path) -> str:
        try:
            return os.path.realpath(path)
        except OSError as error:
            raise self._own_error(error, "") from None

    def _entry(self, name: str, *, is_link: bool = True) -> FileEntry:
        """``is_link`` is False where the file is known to be none."""
        try:
            size: int | None = os.stat(self._start + name).st_size  # noqa: PTH116
        except OSError:
            size = None  # a link to nothing: listed, because it should have been a file
        return FileEntry(name, size, *(_recorded_hashes(self.root / name) if is_link else ()))

    def size(self, path: str) -> int:
        return self._stat(path).st_size

    def _stat(self, path: str) -> os.stat_result:
        reason = None if path == self.file else why_unsafe(path)  # the user's own word is good
        if reason is not None:
            raise UnreadableError(self._given, f"the path {path[:200]!r} {reason}")
        refuse_outside(self._given, self._start + path, None if path == self.file else path)
        try:
            status = os.stat(self._start + path)  # noqa: PTH116
        except (OSError, ValueError) as error:
            raise self._own_error(error, path) from None
        if not stat.S_ISREG(status.st_mode):
            # Opening a pipe or a device could wait for ever.
            what = "a directory" if stat.S_ISDIR(status.st_mode) else "no regular file"
            where = None if path == self.file else path
            hint = "name a weight file, a config.json or a directory of them"
            raise UnreadableError(self._given, f"is {what}", where=where, hint=hint)
        return status

    def read(self, path: str, start: int, stop: int) -> bytes:
        start = max(start, 0)
        stop = min(stop, self._stat(path).st_size)
        if stop <= start:
            return b""
        try:
            with open(self._start + path, "rb", buffering=0) as file:  # noqa: PTH123
                file.seek(start)
                return _read_fully(file.read, stop - start)
        except OSError as error:
            raise self._own_error(error, path) from None

    def read_all(self, path: str, limit: int) -> bytes:
        size = self.size(path)
        if size > limit:
            raise LimitError(
                self._given, f"has {size:,} bytes", expected=f"at most {limit:,}", where=path
            )
        return self.read(path, 0, size)

    def gather(self, tasks: Sequence[Callable[[], T]]) -> list[T | HfinspectError]:
        """One after the other: a disk gains nothing from more."""
        return [outcome(task) for task in tasks]

    def close(self) -> None:
        """Nothing is held open."""

    def _own_error(self, error: OSError | ValueError, path: str) -> HfinspectError:
        """The operating system's words in ours."""
        where = path if path and path != self.file else None
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            if where is None or not (self.root / path).is_symlink():
                return EntryNotFoundError(
                    self._given,
                    "does not exist",
                    where=where,
                    hint="check the spelling; a Hub repo is org/name",
                )
            return EntryNotFoundError(
                self._given,
                "has a link that leads nowhere",
                where=where,
                hint="download the file again",
            )
        if isinstance(error, PermissionError):
            hint = "check the permissions"
            return UnreadableError(self._given, "may not be read", where=where, hint=hint)
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return UnreadableError(self._given, f"cannot be read: {reason}", where=where)


def _read_fully(read: Callable[[int], bytes | None], count: int) -> bytes:
    """``count`` bytes, or fewer at the end: a raw read may stop early, on Linux at 2 GB."""
    parts: list[bytes] = []
    while count > 0:
        part = read(count)
        if not part:
            break
        parts.append(part)
        count -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _is_file(entry: os.DirEntry[str]) -> bool:
    """A file or a link to anything; where a directory's names may be read but nothing in it
    touched, a file, so that reading it says what is wrong."""
    try:
        return entry.is_symlink() or entry.is_file()
    except OSError:
        return True


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads in a circle
        return False


def _recorded_hashes(path: Path) -> tuple[str | None, str | None]:
    """The hash in the name of the blob that a link of the Hub's cache points to: the sha256 of a
    large file, the Git object of a small one."""
    try:
        target = path.readlink()
    except OSError:  # no link
        return None, None
    if target.parent.name != "blobs":
        return None, None
    if _SHA256.fullmatch(target.name):
        return target.name, None
    return None, f"git:{target.name}" if _SHA1.fullmatch(target.name) else None
