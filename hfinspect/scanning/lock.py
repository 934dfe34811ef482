"""One scan at a time writes an output.

The system holds the lock and gives it back when the process ends, however it ends: what a killed
one leaves is two small files that the next one takes over.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UnreadableError, UsageError

if TYPE_CHECKING:
    from filelock import BaseFileLock


class OutputLock:
    """The lock of an output, a file next to it; another one names the process that has it. Use as
    a context manager.

    Raises UsageError with the other's process where it is taken.
    """

    def __init__(self, output: Path) -> None:
        self.output = output
        self._real = Path(os.path.realpath(output))
        self.path = self._real.with_name(f".{self._real.name}.lock")
        self._holder = self._real.with_name(f".{self._real.name}.pid")
        self._lock: BaseFileLock | None = None

    def __enter__(self) -> "OutputLock":
        from filelock import FileLock, Timeout

        self._lock = FileLock(self.path, timeout=0, mode=0o644)
        try:
            self._real.parent.stat()  # some versions of filelock would make the folder
            self._lock.acquire()
            self._holder.write_text(f"{os.getpid()}", encoding="ascii")
        except Timeout:
            raise self._refused() from None
        except OSError as error:
            self._lock.release()
            reason = error.strerror or str(error)
            raise UnreadableError(str(self.output), f"cannot be written: {reason}") from None
        return self

    def _refused(self) -> UsageError:
        text = ""
        with suppress(OSError, UnicodeError):
            text = self._holder.read_text(encoding="ascii")
        other = f"process {text}" if text.isdecimal() else "another process"
        return UsageError(
            str(self.output),
            f"is being written by another scan ({other})",
            hint="wait for it, or write to another file",
        )

    def __exit__(self, *_: object) -> None:
        from filelock import __version__

        assert self._lock is not None
        with suppress(OSError):
            self._holder.unlink()
        if not __version__.startswith("3."):  # which removes its file itself
            with suppress(OSError):  # so does any on Windows, where no open file can be removed
                self.path.unlink()
        self._lock.release()
