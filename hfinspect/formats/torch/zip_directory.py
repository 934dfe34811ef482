"""The directory of a zip archive, read from its end, and single members out of it.

Source: APPNOTE.TXT 6.3.10 of PKWARE, sections 4.3.7 (local header), 4.3.12 (central directory),
4.3.14 and 4.3.15 (zip64), 4.3.16 (end of central directory), 4.5.3 (zip64 extra field).
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

from ...errors import FormatError, LimitError, UnsupportedFormatError
from ..base import checked_limit
from ..window import Windows

#: Read from the end at first. The end record is within 65,557 bytes (its comment is at most
#: 65,535); a directory of 1,000 tensors takes about 80,000 bytes before it.
TAIL_BYTES = 128 * 1024
#: 500,000 tensors at about 100 bytes each; the largest known .bin has a few thousand.
MAX_DIRECTORY_BYTES = 64 * 1024 * 1024
MAX_ENTRIES = 600_000
#: Read along with a member, for the padding that PyTorch puts into the local header's extra field.
LOCAL_EXTRA_GUESS = 256

_END = struct.Struct("<4s4H2LH")
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 0x1
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF


class ZipEntry(NamedTuple):
    """One member: sizes in bytes, ``header_offset`` of its local header, absolute in the file."""

    name: str
    method: int
    flags: int
    crc: int
    packed: int
    size: int
    header_offset: int


class ZipDirectory(NamedTuple):
    """All members in the directory's order, where the directory lies, and bytes after its end."""

    entries: tuple[ZipEntry, ...]
    start: int
    stop: int
    trailing: int

    def overlaps(self) -> list[tuple[ZipEntry, ZipEntry]]:
        """Pairs of neighbours that claim the same bytes, and members that run into the directory.

        The latter are paired with themselves. The local header is at least 30 bytes and the name.
        """
        found = []
        ordered = sorted(self.entries, key=lambda entry: entry.header_offset)
        for index, entry in enumerate(ordered):
            end = entry.header_offset + _LOCAL.size + len(entry.name.encode()) + entry.packed
            if end > self.start:
                found.append((entry, entry))
            elif index + 1 < len(ordered) and end > ordered[index + 1].header_offset:
                found.append((entry, ordered[index + 1]))
        return found


def _broken(
    path: str, found: str, where: int | None = None, rule: str = "zip-directory"
) -> FormatError:
    return FormatError(
        path, found, rule=rule, where=None if where is None else f"byte {where}",
        hint="the file is damaged or cut short; download it again",
    )  # fmt: skip


def read_directory(file: Windows) -> ZipDirectory:
    """Read the end of the file and the central directory, one or two ranges.

    Raises FormatError (rules zip-directory, zip-multidisk) and LimitError.
    """
    size = file.known_size()
    tail_start = max(0, size - TAIL_BYTES)
    tail = file.read(tail_start, size)
    at = _find_end(tail)
    if at < 0:
        raise _broken(file.path, "no end of a zip directory: cut short, or no zip archive")
    _, disk, start_disk, _, count, length, start, comment = _END.unpack_from(tail, at)
    end = tail_start + at
    stop = end
    if _FULL16 in (count, disk, start_disk) or _FULL32 in (length, start):
        zip64 = _read_end64(file, end)
        if zip64 is not None:
            stop, disk, start_disk, count, length, start = zip64
    if (disk, start_disk) != (0, 0):
        raise _broken(file.path, "the archive is split over several files", end, "zip-multidisk")
    checked_limit(file.path, "the zip directory's size in bytes", length, MAX_DIRECTORY_BYTES)
    checked_limit(file.path, "the number of zip members", count, MAX_ENTRIES)
    if start + length > stop or count * _CENTRAL.size > length:
        raise _broken(file.path, f"the zip directory does not lie in bytes {start} to {stop}", end)
    data = file.read(start, start + length)
    entries = _parse_entries(file.path, data, start, count)
    trailing = size - (end + _END.size + comment)
    return ZipDirectory(entries, start, start + length, max(trailing, 0))


def _find_end(tail: bytes) -> int:
    """Index of the end record: the last whose comment ends the file, else the last that fits."""
    fallback = -1
    at = len(tail)
    while (at := tail.rfind(b"PK\x05\x06", 0, at)) >= 0:
        if at + _END.size <= len(tail):
            comment = int.from_bytes(tail[at + 20 : at + 22], "little")
            if at + _END.size + comment == len(tail):
                return at
            if fallback < 0 and at + _END.size + comment < len(tail):
                fallback = at
    return fallback


def _read_end64(file: Windows, end: int) -> tuple[int, int, int, int, int, int] | None:
    """(offset of the record, disk, start disk, count, length, start), None without a locator."""
    locator = file.read(end - _END64_LOCATOR.size, end) if end >= _END64_LOCATOR.size else b""
    if not locator.startswith(b"PK\x06\x07") or len(locator) < _END64_LOCATOR.size:
        return None
    _, _, offset, _ = _END64_LOCATOR.unpack(locator)
    if offset + _END64.size > end:
        raise _broken(file.path, "the zip64 end record lies outside the file", end)
    record = file.read(offset, offset + _END64.size)
    if not record.startswith(b"PK\x06\x06") or len(record) < _END64.size:
        raise _broken(file.path, "no zip64 end record where its locator points", offset)
    fields = _END64.unpack(record)
    return (offset, fields[4], fields[5], fields[7], fields[8], fields[9])


def _parse_entries(path: str, data: bytes, start: int, count: int) -> tuple[ZipEntry, ...]:
    entries = []
    at = 0
    for _ in range(count):
        if at + _CENTRAL.size > len(data) or data[at : at + 4] != b"PK\x01\x02":
            raise _broken(path, "a zip directory entry is missing or damaged", start + at)
        fields = _CENTRAL.unpack_from(data, at)
        flags, method, crc, packed, size = fields[3], fields[4], fields[7], fields[8], fields[9]
        name_length, extra_length, comment_length = fields[10:13]
        offset = fields[16]
        at += _CENTRAL.size
        after = at + name_length + extra_length + comment_length
        if after > len(data):
            raise _broken(path, "a zip directory entry runs past the directory", start + at)
        name = data[at : at + name_length].decode("utf-8", "backslashreplace")
        if _FULL32 in (size, packed, offset):
            extra = data[at + name_length : at + name_length + extra_length]
            size, packed, offset = _zip64_fields(path, extra, size, packed, offset, start + at)
        entries.append(ZipEntry(name, method, flags, crc, packed, size, offset))
        at = after
    return tuple(entries)


def _zip64_fields(
    path: str, extra: bytes, size: int, packed: int, offset: int, where: int
) -> tuple[int, int, int]:
    """Those of the three that are full (0xFFFFFFFF), from the extra field 0x0001, in this order."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        body = extra[at + 4 : at + 4 + length]
        if kind == 1:
            values = iter(struct.unpack_from(f"<{len(body) // 8}Q", body))
            try:
                size = next(values) if size == _FULL32 else size
                packed = next(values) if packed == _FULL32 else packed
                offset = next(values) if offset == _FULL32 else offset
            except StopIteration:
                raise _broken(path, "a zip64 extra field is too short", where) from None
            return size, packed, offset
        at += 4 + length
    return size, packed, offset  # a size of exactly 2**32 - 1 needs no extra field


def data_offset(file: Windows, entry: ZipEntry, read_along: int = 0) -> int:
    """Where a member's bytes begin: after its local header, which this reads.

    ``read_along`` bytes of the member are fetched in the same range. FormatError (zip-local-header)
    if the local header is not there or names another member.
    """
    name = entry.name.encode("utf-8", "backslashreplace")
    guess = _LOCAL.size + len(name) + LOCAL_EXTRA_GUESS + read_along
    local = file.read(entry.header_offset, entry.header_offset + guess)
    if len(local) < _LOCAL.size or not local.startswith(b"PK\x03\x04"):
        raise _broken(
            file.path, f"no local header for {entry.name!a:.200}", entry.header_offset,
            "zip-local-header",
        )  # fmt: skip
    name_length, extra_length = _LOCAL.unpack_from(local)[9:11]
    local_name = local[_LOCAL.size : _LOCAL.size + name_length]
    if local_name.decode("utf-8", "backslashreplace") != entry.name:
        raise _broken(
            file.path, f"the local header of {entry.name!a:.200} has another name",
            entry.header_offset, "zip-local-header",
        )  # fmt: skip
    return int(entry.header_offset + _LOCAL.size + name_length + extra_length)


def read_member(file: Windows, entry: ZipEntry, limit: int) -> bytes:
    """One member's content, stored or deflated, of at most ``limit`` bytes.

    Raises FormatError (zip-local-header, zip-member, zip-encrypted), LimitError, and
    UnsupportedFormatError for other methods of compression.
    """
    what = f"{entry.name!a:.200}"
    checked_limit(file.path, f"the size of {what} in bytes", max(entry.size, entry.packed), limit)
    if entry.flags & _ENCRYPTED:
        raise _broken(file.path, f"{what} is encrypted", entry.header_offset, "zip-encrypted")
    if entry.method not in (_STORED, _DEFLATED):
        raise UnsupportedFormatError(
            file.path, f"{what} is compressed by method {entry.method}",
            expected="stored (0) or deflated (8)",
        )  # fmt: skip
    begin = data_offset(file, entry, read_along=entry.packed)
    packed = file.read(begin, begin + entry.packed)
    data = packed if entry.method == _STORED else _inflate(file.path, packed, entry)
    if len(data) != entry.size:
        raise _broken(
            file.path, f"{what} has {len(data):,} bytes instead of {entry.size:,}", begin,
            "zip-member",
        )  # fmt: skip
    return data


def crc_matches(entry: ZipEntry, data: bytes) -> bool:
    """Whether the directory's checksum is that of ``data``."""
    return zlib.crc32(data) == entry.crc


def _inflate(path: str, packed: bytes, entry: ZipEntry) -> bytes:
    """Inflate to at most one byte more than declared: a bomb never gets to unfold."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        data = inflater.decompress(packed, entry.size + 1)
    except zlib.error as error:
        raise _broken(
            path, f"{entry.name!a:.200} cannot be inflated ({error})", entry.header_offset,
            "zip-member",
        ) from None  # fmt: skip
    if len(data) > entry.size:
        raise LimitError(
            path, f"{entry.name!a:.200} inflates to more than it declares",
            expected=f"{entry.size:,} bytes",
        )  # fmt: skip
    return data
