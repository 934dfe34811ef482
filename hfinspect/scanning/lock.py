"""One scan at a time writes an output.

The system holds the lock and gives it back when the process ends, however it ends: what a killed
one leaves is an empty promise that the next one takes over.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..errors import UnreadableError, UsageError

#: Errors that say that another one has the lock; any other means that there are no locks there.
_HELD: Final = frozenset({errno.EACCES, errno.EAGAIN, errno.EDEADLK, errno.EWOULDBLOCK})
#: Windows locks bytes, which others then cannot read: one far behind the text.
_FAR: Final = 1 << 20
#: What a lock file holds: a process id.
_MAX_TEXT: Final = 200


class OutputLock:
    """The lock of an output, a file next to it that names who writes. Use as a context manager.

    Raises UsageError with the other's process where it is taken.
    """

    def __init__(self, output: Path) -> None:
        self.output = output
        real = Path(os.path.realpath(output))
        self.path = real.with_name(f".{real.name}.lock")
        self._file = -1

    def __enter__(self) -> OutputLock:
        try:
            while not self._taken():
                pass
            os.ftruncate(self._file, 0)
            os.write(self._file, f"{os.getpid()}".encode())
        except OSError as error:
            self._close()
            reason = error.strerror or str(error)
            raise UnreadableError(str(self.output), f"cannot be written: {reason}") from None
        return self

    def _taken(self) -> bool:
        """Whether the lock is ours; False if its file was just removed by who had it."""
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(self._file)
        except OSError as error:
            if error.errno in _HELD:
                raise self._refused() from None
        with suppress(OSError):
            if os.path.samestat(os.fstat(self._file), self.path.stat()):
                return True
        self._close()
        return False

    def _refused(self) -> UsageError:
        with suppress(OSError):
            text = os.read(self._file, _MAX_TEXT).decode("ascii", "replace")
        self._close()
        other = f"process {text}" if text.isdecimal() else "another process"
        return UsageError(
            str(self.output),
            f"is being written by another scan ({other})",
            hint="wait for it, or write to another file",
        )

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __exit__(self, *_: object) -> None:
        if sys.platform == "win32":  # where an open file cannot be removed
            self._close()
        with suppress(OSError):
            self.path.unlink()
        self._close()


def _lock(file: int) -> None:
    """Take the system's lock of an open file. Raises OSError at once if another has it."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(file, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(file, 0, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
