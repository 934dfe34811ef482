"""Zip archives one behind the other in one file, as torch.distributed.checkpoint writes (.distcp).

Each is what ``torch.save`` made of one tensor or object; .metadata says where each lies. Their
directories are found from the end: an end record says how long its directory is and where in its
archive that begins, and so where the archive begins.
"""

import struct
from typing import Final

from ...errors import FormatError, LimitError
from ..window import Windows

#: Archives of one file: one for each tensor that a process saves.
MAX_ARCHIVES: Final = 20_000
_END: Final = struct.Struct("<4s4H2LH")
_LOCATOR: Final = struct.Struct("<4sLQL")
_END64: Final = struct.Struct("<4sQ2H2L4Q")
_FULL: Final = 0xFFFFFFFF


def archives_in_row(file: Windows) -> list[tuple[int, int]]:
    """Begin and length of each archive, first to last. Raises FormatError, LimitError."""
    archives: list[tuple[int, int]] = []
    stop = file.known_size()
    while stop > 0:
        begin = _begin(file, stop)
        archives.append((begin, stop - begin))
        if len(archives) > MAX_ARCHIVES:
            text = f"more than {MAX_ARCHIVES:,} archives in a row"
            raise LimitError(file.path, text, expected=f"at most {MAX_ARCHIVES:,}")
        stop = begin
    return archives[::-1]


def _begin(file: Windows, stop: int) -> int:
    """Where the archive begins whose end record ends at ``stop``."""
    at = stop - _END.size
    tail = file.glance(max(at - _LOCATOR.size - _END64.size, 0), stop) if at >= 0 else b""
    if tail[-_END.size :][:4] != b"PK\x05\x06":
        raise _broken(file, stop, "no archive ends here")
    length, start = _END.unpack(tail[-_END.size :])[5:7]
    locator = tail[-_END.size - _LOCATOR.size :][:4] == b"PK\x06\x07"
    if locator:
        at -= _LOCATOR.size + _END64.size
        wide = tail[: _END64.size]
        if len(tail) < _END.size + _LOCATOR.size + _END64.size or wide[:4] != b"PK\x06\x06":
            raise _broken(file, stop, "no zip64 end record in front of its locator")
        length, start = _END64.unpack(wide)[8:10]
    elif _FULL in (length, start):
        raise _broken(file, stop, "an end record without the sizes that it refers to")
    begin = at - length - start
    if not 0 <= begin < at:
        raise _broken(file, stop, "a directory outside of the file")
    return int(begin)


def _broken(file: Windows, where: int, problem: str) -> FormatError:
    return FormatError(
        file.path,
        problem,
        rule="zip-directory",
        where=f"byte {where:,}",
        expected="archives of torch.save, one behind the other",
        hint="the file is damaged or cut short; download it again",
    )
