"""Paths that strangers wrote: in an index, in a config, inside an archive."""

import re

#: Longer than any path a file system or the Hub takes.
MAX_PATH_LENGTH = 4096

_DRIVE = re.compile(r"[A-Za-z]:")


def why_unsafe(path: str) -> str | None:
    """Why a relative POSIX path must not be followed below a model's root, or None if it may be.

    Refused is what could name something outside (``..``, a leading ``/``, a drive, a URL,
    backslashes) or is not meant to be read by people (control characters).
    """
    if not path:
        return "is empty"
    if len(path) > MAX_PATH_LENGTH:
        return f"is {len(path):,} characters long"
    if not path.isprintable():
        return "holds control characters"
    if "\\" in path:
        return "holds a backslash"
    if "://" in path:
        return "is a URL"
    if path.startswith(("/", "~")) or _DRIVE.match(path):
        return "is an absolute path"
    if ".." in path.split("/"):
        return "leaves the directory"
    return None
