"""Which models a scan is about."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from ..errors import EntryNotFoundError, UnreadableError, UsageError

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
            raise UsageError(name, f"line {number} is no target", expected="one model a line")
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        yield text.split(" #", 1)[0].strip()


def from_file(path: Path) -> list[str]:
    """The targets of a text file. Raises EntryNotFoundError, UnreadableError, UsageError."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            return list(from_lines(lines, str(path)))
    except FileNotFoundError:
        raise EntryNotFoundError(str(path), "does not exist") from None
    except UnicodeDecodeError:
        raise UsageError(str(path), "is not a text file", expected="one model a line") from None
    except OSError as error:
        raise UnreadableError(str(path), f"cannot be read: {error.strerror}") from None


def below(root: Path) -> Iterator[str]:
    """Every directory at or below ``root`` that holds a model, in order of names.

    Hidden directories are skipped and links are not followed; the components of a pipeline are
    not models of their own. Raises EntryNotFoundError.
    """
    if not root.is_dir():
        raise EntryNotFoundError(str(root), "is not a directory")
    for looked_at, (folder, folders, files) in enumerate(os.walk(root), 1):
        if looked_at > MAX_DIRECTORIES:
            raise UsageError(
                str(root), "holds too many directories", expected=f"{MAX_DIRECTORIES:,}"
            )
        if "model_index.json" in files or "modules.json" in files:
            folders.clear()
        else:
            folders[:] = sorted(name for name in folders if not name.startswith("."))
        if any(name in _SIGNS or name.endswith(_WEIGHTS) for name in files):
            yield folder if os.sep in folder else os.path.join(".", folder)  # noqa: PTH118


def shard(targets: Sequence[str], text: str) -> tuple[list[str], int]:
    """The part ``K/N`` of a list and K: consecutive targets, so that the outputs of 1/N to N/N in
    a row are the output of the whole. Raises UsageError."""
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and len(count) < 7):
        raise UsageError(f"shard {text!r}", "is malformed", expected="K/N, as in 3/16")
    k, n = int(number), int(count)
    if not 1 <= k <= n:
        raise UsageError(f"shard {text}", "does not exist", expected=f"1/{n} to {n}/{n}")
    total = len(targets)
    return list(targets[(k - 1) * total // n : k * total // n]), k
