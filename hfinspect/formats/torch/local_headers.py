"""A zip archive's local headers against its directory: readers believe the one or the other.

Every member has a header of its own in front of its bytes (APPNOTE 4.3.7), which repeats what the
directory says. Python's zipfile compares names, PyTorch's reader takes the lengths of name and
extra field alone, and one that goes through the file from its beginning knows nothing else.
"""

import struct

from ..window import Windows
from .zip_directory import MAX_DOUBTS, ZipDirectory, ZipEntry

#: Members of one archive whose local headers are read where a read costs no round trip: some
#: microseconds each. The largest known checkpoints have some thousands.
MAX_LOCAL_HEADERS = 50_000
#: Read along with a header: the extra field with its 64-bit sizes is 20 bytes long.
_EXTRA_BYTES = 64

_LOCAL = struct.Struct("<4s5H3L2H")
_ENCRYPTED = 0x1
_SIZES_FOLLOW = 0x8
_FULL32 = 0xFFFFFFFF


def local_doubts(file: Windows, directory: ZipDirectory) -> tuple[list[str], int]:
    """What local headers say otherwise than the directory, and how many were not compared for
    their number. Elsewhere than on disk only those are compared that have been read already."""
    doubts: list[str] = []
    compared = directory.entries[:MAX_LOCAL_HEADERS]
    for entry in compared:
        begin = entry.header_offset
        name = entry.name.encode("utf-8", "backslashreplace")
        stop = begin + _LOCAL.size + len(name) + _EXTRA_BYTES
        local = file.glance(begin, stop) if file.is_near else file.peek(begin, stop)
        if local is None:
            continue
        if difference := _difference(local, entry, name):
            doubts.append(f"the local header of {entry.name!a:.200} {difference}")
        if len(doubts) >= MAX_DOUBTS:
            break
    return doubts, len(directory.entries) - len(compared) if file.is_near else 0


def _difference(local: bytes, entry: ZipEntry, name: bytes) -> str | None:
    if len(local) < _LOCAL.size or not local.startswith(b"PK\x03\x04"):
        return "is not where the directory says"
    _, _, flags, method, _, _, crc, packed, size, length, extra_length = _LOCAL.unpack_from(local)
    name_here = local[_LOCAL.size : _LOCAL.size + length].decode("utf-8", "backslashreplace")
    if length > len(name) + _EXTRA_BYTES or name_here != entry.name:
        return "has another name"
    if method != entry.method or (flags ^ entry.flags) & _ENCRYPTED:
        return "has another method"
    extra = local[_LOCAL.size + length :][:extra_length]
    size, packed = _wide(extra, size, packed)
    # Sizes that follow the data may be zero here; a size that does not fit is in the extra field.
    free = (0, _FULL32) if flags & _SIZES_FOLLOW else (_FULL32,)
    sizes = ((packed, entry.packed), (size, entry.size))
    if any(local_size not in (known, *free) for local_size, known in sizes):
        return "has other sizes"
    if crc != entry.crc and not (flags & _SIZES_FOLLOW and crc == 0):
        return "has another checksum"
    return None


def _wide(extra: bytes, size: int, packed: int) -> tuple[int, int]:
    """Both sizes, from the extra field 0x0001 where they are full; it is their order there."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1 and length >= 16 and at + 20 <= len(extra):
            wide_size, wide_packed = struct.unpack_from("<2Q", extra, at + 4)
            return (
                wide_size if size == _FULL32 else size,
                wide_packed if packed == _FULL32 else packed,
            )
        at += 4 + length
    return size, packed
