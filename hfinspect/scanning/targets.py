"""Which models a scan is about."""

import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from stat import S_ISDIR
from typing import Final, TextIO, TypeVar

from ..errors import EntryNotFoundError, UnreadableError, UsageError

T = TypeVar("T")

#: A line longer than any path or repo id is not a list of models but some other file.
MAX_LINE: Final = 4096
#: Directories looked at by --recursive; more is most likely a whole disk given by mistake.
MAX_DIRECTORIES: Final = 1_000_000
_WEIGHTS: Final = (".safetensors", ".bin", ".gguf", ".pt", ".pth", ".ckpt")
_SIGNS: Final = ("config.json", "model_index.json", "adapter_config.json", "modules.json")


def from_lines(lines: Iterable[str], name: str = "the list") -> Iterator[str]:
    """One target a line; blank lines and lines that begin with ``#`` are skipped, a ``#`` after a
    space ends the target. Raises UsageError for what is no text list."""
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE or "\0" in line:
            raise UsageError(name, f"line {number} is not a target", expected="one model a line")
        text = line.removeprefix("\ufeff").strip()
        if not text or text.startswith("#"):
            continue
        yield text.split(" #", 1)[0].strip()


def from_stream(stream: TextIO, name: str) -> Iterator[str]:
    """The targets of an open text file, read as they are needed. Raises UsageError."""
    try:
        yield from from_lines(iter(lambda: stream.readline(MAX_LINE + 1), ""), name)
    except UnicodeDecodeError:
        raise UsageError(name, "is not a text file", expected="one model a line") from None


def from_file(path: Path) -> Iterator[str]:
    """The targets of a text file, read as they are needed. Raises EntryNotFoundError,
    UnreadableError, UsageError."""
    try:
        with path.open(encoding="utf-8") as stream:
            yield from from_stream(stream, str(path))
    except FileNotFoundError:
        raise EntryNotFoundError(
            str(path),
            "does not exist",
            hint="give a file with one model per line; one model is read by inspect",
        ) from None
    except OSError as error:
        raise UnreadableError(str(path), f"cannot be read: {error.strerror}") from None


def below(root: Path) -> Iterator[str]:
    """Every directory at or below ``root`` that holds a model, in order of names.

    Hidden directories are skipped and links are not followed; the components of a pipeline are
    not models of their own. A directory that cannot be read is named too: its row says why.
    Raises EntryNotFoundError and UnreadableError.
    """
    try:
        is_directory = S_ISDIR(root.stat().st_mode)
    except PermissionError as error:
        raise UnreadableError(str(root), f"cannot be read: {error.strerror}") from None
    except (OSError, ValueError):
        is_directory = False
    if not is_directory:
        raise EntryNotFoundError(str(root), "is not a directory")
    unreadable: list[str] = []
    walk = os.walk(root, onerror=lambda error: unreadable.append(str(error.filename)))
    for looked_at, (folder, folders, files) in enumerate(walk, 1):
        if looked_at > MAX_DIRECTORIES:
            raise UsageError(
                str(root), "holds too many directories", expected=f"{MAX_DIRECTORIES:,}"
            )
        if "model_index.json" in files or "modules.json" in files:
            folders.clear()
        else:
            folders[:] = sorted(name for name in folders if not name.startswith("."))
        if any(name in _SIGNS or name.endswith(_WEIGHTS) for name in files):
            yield _as_path(folder)
    yield from map(_as_path, unreadable)


def _as_path(folder: str) -> str:
    """A relative path that cannot be taken for a repo's name."""
    plain = Path(folder).is_absolute() or folder.partition(os.sep)[0] in (".", "..")
    return folder if plain else os.path.join(".", folder)  # noqa: PTH118


def shard_numbers(text: str) -> tuple[int, int]:
    """K and N of ``K/N``. Raises UsageError."""
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and len(text) < 14):
        raise UsageError(f"shard {text!r}", "is malformed", expected="K/N, as in 3/16")
    k = int(number)
    n = int(count)
    if not 1 <= k <= n:
        raise UsageError(f"shard {text}", "does not exist", expected=f"1/{n} to {n}/{n}")
    return k, n


def part(items: Sequence[T], text: str) -> list[T]:
    """The part ``K/N`` of a list: consecutive items, so that the outputs of 1/N to N/N in a row
    are the output of the whole. Raises UsageError."""
    k, n = shard_numbers(text)
    total = len(items)
    return list(items[(k - 1) * total // n : k * total // n])


def falls_to(target: str, k: int, n: int) -> bool:
    """Whether shard ``k`` of ``n`` has the target, by a checksum of its name: nobody needs the
    whole list, and one that changes between two shards loses no model that stays in it."""
    return zlib.crc32(target.encode("utf-8", "surrogatepass")) % n == k - 1
