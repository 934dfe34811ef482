"""How much may be done at once with the open files that this process is allowed."""

import errno
import sys
from typing import Final

#: Open files that are not connections or targets: the three standard ones, an output, its lock and
#: rows that came early, certificates, the library's own modules while they load.
RESERVED: Final = 16

_USED_UP: Final = frozenset({errno.EMFILE, errno.ENFILE})


def limit() -> int | None:
    """Files that this process may have open; None where there is no such limit."""
    if sys.platform in ("win32", "emscripten"):  # where sockets are no files
        return None
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def at_once(count: int) -> int:
    """So many, or fewer: with two open files each they fit into the limit. At least one."""
    most = limit()
    return count if most is None else max(1, min(count, (most - RESERVED) // 2))


def are_used_up(error: BaseException) -> bool:
    """Whether an error, or one that it came from, is that no more files may be open."""
    cause: BaseException | None = error
    for _ in range(8):
        if cause is None:
            return False
        if isinstance(cause, OSError) and cause.errno in _USED_UP:
            return True
        cause = cause.__cause__ or cause.__context__
    return False
