"""The directory of a zip archive, read from its end, and single members out of it.

Source: APPNOTE.TXT 6.3.10 of PKWARE, sections 4.3.7 (local header), 4.3.12 (central directory),
4.3.14 and 4.3.15 (zip64), 4.3.16 (end of central directory), 4.5.3 (zip64 extra field).
"""

import struct
import zlib
from contextlib import suppress
from typing import NamedTuple

from ...errors import FormatError, LimitError, UnsupportedFormatError
from ..base import checked_limit
from ..sniff import SNIFF_BYTES
from ..window import Windows

#: Read from the end at first. The end record is within 65,557 bytes (its comment is at most
#: 65,535); a directory of 1,000 tensors takes about 80,000 bytes before it.
TAIL_BYTES = 128 * 1024
#: 500,000 tensors at about 100 bytes each; the largest known .bin has a few thousand.
MAX_DIRECTORY_BYTES = 64 * 1024 * 1024
#: A member a tensor, and some more.
MAX_ENTRIES = 600_000
#: Where readers look for an end record: it takes 22 bytes, its comment at most 65,535.
MAX_END_BYTES = 22 + 65_535
#: End records that are tried; an honest archive has one.
MAX_END_RECORDS = 4
#: Findings about names of one archive.
MAX_DOUBTS = 20
#: An extra field of a local header.
MAX_LOCAL_EXTRA = 65_535
#: Members that may be archives themselves.
ARCHIVE_SUFFIXES = tuple(".zip .pt .pth .bin .ckpt .npz .pt2 .mar .keras .jar .whl".split())
#: Read along with a member, for the padding that PyTorch puts into the local header's extra field.
LOCAL_EXTRA_GUESS = 256

_END = struct.Struct("<4s4H2LH")
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_STORED = 0
_DEFLATED = 8
_ENCRYPTED = 0x1
#: Sizes and checksum come after the data, and not in the local header.
_SIZES_FOLLOW = 0x8
_FULL16 = 0xFFFF
_FULL32 = 0xFFFFFFFF


class ZipEntry(NamedTuple):
    """One member: sizes in bytes, ``header_offset`` of its local header, absolute in the file.

    ``renamed`` if an extra field (0x7075, APPNOTE 4.6.9) gives it another name in some readers.
    """

    name: str
    method: int
    flags: int
    crc: int
    packed: int
    size: int
    header_offset: int
    renamed: bool = False


class ZipDirectory(NamedTuple):
    """All members in the directory's order, where the directory lies, and bytes after its end.

    ``uncounted`` if it goes on behind the members that its end record counts: zipfile reads on.
    """

    entries: tuple[ZipEntry, ...]
    start: int
    stop: int
    trailing: int
    uncounted: bool = False

    def overlaps(self) -> list[tuple[ZipEntry, ZipEntry]]:
        """Pairs of neighbours that claim the same bytes, and members that run into the directory.

        The latter are paired with themselves. The local header is at least 30 bytes and the name.
        """
        pairs = []
        ordered = sorted(self.entries, key=lambda entry: entry.header_offset)
        for index, entry in enumerate(ordered):
            end = entry.header_offset + _LOCAL.size + len(entry.name.encode()) + entry.packed
            if end > self.start:
                pairs.append((entry, entry))
            elif index + 1 < len(ordered) and end > ordered[index + 1].header_offset:
                pairs.append((entry, ordered[index + 1]))
        return pairs


def _broken(
    path: str, problem: str, where: int | None = None, rule: str = "zip-directory"
) -> FormatError:
    return FormatError(
        path,
        problem,
        rule=rule,
        where=None if where is None else f"byte {where}",
        hint="the file is damaged or cut short; download it again",
    )


class _End(NamedTuple):
    """One reader's choice: the end record at ``at``, the directory's place by what it says."""

    at: int
    disks: tuple[int, int]
    entries: int
    length: int
    start: int
    trailing: int
    shift: int = 0  # of the members' offsets too


def read_directory(file: Windows) -> ZipDirectory:
    """Read the end of the file and the central directory that PyTorch's reader takes.

    Its reader (miniz) takes the last signature of an end record, and the directory where that says.
    One or two ranges. Raises FormatError (rules zip-directory, zip-multidisk) and LimitError.
    """
    tail, tail_start = _tail(file)
    places = _signatures(tail)
    if not places:
        raise _broken(file.path, "no end of a zip directory: cut short, or no zip archive")
    return _directory(file, _read_end(file, tail, tail_start, places[-1]))


def read_directories(file: Windows) -> tuple[list[ZipDirectory], list[str]]:
    """Every directory that some reader takes, PyTorch's first, and why readers differ.

    Readers choose the last end record (miniz, Python's zipfile), the first, or the one whose
    comment ends the file; zipfile takes the directory to end right before its end record, others
    believe the offset in it. Raises as ``read_directory`` does, of the first directory alone.
    """
    tail, tail_start = _tail(file)
    places = _signatures(tail)
    if not places:
        read_directory(file)  # which says so
    directories: list[ZipDirectory] = []
    differences: list[str] = []
    last = places[-1]
    if len(places) > MAX_END_RECORDS:
        differences.append(f"it has {len(places):,} end records: not all of them are checked")
    for at in dict.fromkeys([*reversed(places[1 - MAX_END_RECORDS :]), places[0]]):
        if at != last and directories and _inside_member(directories[0], tail_start + at):
            continue  # an archive in an archive, which is looked at as a member
        for choice in _readings(file, tail, tail_start, at):
            other = _try_directory(file, choice)
            if other is None:
                continue
            if all((other.start, other.entries) != (d.start, d.entries) for d in directories):
                directories.append(other)
            if at != last:
                differences.append(f"a second directory ends at byte {tail_start + at:,}")
    if not directories:
        return [read_directory(file)], []
    differences += _doubts(file, tail, tail_start, last)
    if any(directory.uncounted for directory in directories):
        differences.append("the directory goes on behind the members that its end record counts")
    if len(directories) > 1:
        differences.append(f"readers find {len(directories)} directories in it")
    return directories, list(dict.fromkeys(differences))


def _tail(file: Windows) -> tuple[bytes, int]:
    size = file.known_size()
    start = max(0, size - TAIL_BYTES)
    return file.read(start, size), start


def _signatures(tail: bytes) -> list[int]:
    """Where end records may begin, in the part of the file that readers search."""
    positions: list[int] = []
    at = max(0, len(tail) - MAX_END_BYTES) - 1
    while (at := tail.find(b"PK\x05\x06", at + 1)) >= 0:
        if at + _END.size <= len(tail):
            positions.append(at)
    return positions


def _comment_end(tail: bytes, at: int) -> int:
    return at + _END.size + int.from_bytes(tail[at + 20 : at + 22], "little")


def _read_end(file: Windows, tail: bytes, tail_start: int, at: int) -> _End:
    """The end record as miniz reads it: a zip64 record counts wherever its locator is there."""
    _, disk, start_disk, _, count, length, start, _ = _END.unpack_from(tail, at)
    end = tail_start + at
    trailing = max(len(tail) - _comment_end(tail, at), 0)
    stop = end
    wide = _read_end64(file, end)
    if wide is not None:
        stop, disk, start_disk, count, length, start = wide
    return _End(stop, (disk, start_disk), count, length, start, trailing)


def _readings(file: Windows, tail: bytes, tail_start: int, at: int) -> list[_End]:
    """An end record as miniz reads it, and as zipfile does, with the directory right before it."""
    try:
        end = _read_end(file, tail, tail_start, at)
    except FormatError:
        return []
    start = end.at - end.length
    if start == end.start:
        return [end]
    return [end, end._replace(start=start, shift=start - end.start)]


def _doubts(file: Windows, tail: bytes, tail_start: int, at: int) -> list[str]:
    """What of the last end record different readers take differently."""
    doubts = []
    end = _read_end(file, tail, tail_start, at)
    if _comment_end(tail, at) != len(tail) and (
        _comment_end(tail, at) > len(tail) or tail.rfind(b"PK\x05\x06") != at
    ):
        doubts.append("its last end record is not one that fits the end of the file")
    if end.start + end.length != end.at:
        doubts.append("the directory does not end where its end record begins")
    fields = _END.unpack_from(tail, at)
    numbers = (fields[4], fields[5], fields[6])
    full = (_FULL16, _FULL32, _FULL32)
    wide = (end.entries, end.length, end.start)
    if any(a not in (b, c) for a, b, c in zip(numbers, wide, full, strict=True)):
        doubts.append("its two end records (zip64 and the old one) say different things")
    if fields[3] != fields[4]:
        doubts.append("its end record counts its members twice, and differently")
    if end.at != tail_start + at and end.at != tail_start + at - _END64.size - _END64_LOCATOR.size:
        doubts.append("its zip64 end record is not right before its locator")
    if not file.read(0, 4).startswith(b"PK\x03\x04") and end.entries:
        doubts.append("something else comes before the archive's first member")
    return doubts


def _inside_member(directory: ZipDirectory, at: int) -> bool:
    return any(
        entry.method == _STORED
        and entry.header_offset + _LOCAL.size + len(entry.name.encode()) <= at
        and at + _END.size
        <= entry.header_offset
        + _LOCAL.size
        + len(entry.name.encode())
        + MAX_LOCAL_EXTRA
        + entry.packed
        and at < directory.start
        for entry in directory.entries
        if entry.name.lower().endswith(ARCHIVE_SUFFIXES)
    )


def _try_directory(file: Windows, end: _End) -> ZipDirectory | None:
    try:
        return _directory(file, end)
    except (FormatError, LimitError):
        return None


def _directory(file: Windows, end: _End) -> ZipDirectory:
    at = end.at
    length = end.length
    start = end.start
    if end.disks != (0, 0):
        raise _broken(file.path, "the archive is split over several files", at, "zip-multidisk")
    checked_limit(file.path, "the zip directory's size in bytes", length, MAX_DIRECTORY_BYTES)
    checked_limit(file.path, "the number of zip members", end.entries, MAX_ENTRIES)
    if start < 0 or start + length > at or end.entries * _CENTRAL.size > length:
        raise _broken(file.path, f"the zip directory does not lie in bytes {start} to {at}", at)
    data = file.read(start, start + length)
    entries, read = _parse_entries(file.path, data, start, end.entries)
    uncounted = read < len(data)
    if data.startswith(b"PK\x01\x02", read):
        entries = _all_entries(file.path, data, start, entries)
    if end.shift:
        entries = tuple(e._replace(header_offset=e.header_offset + end.shift) for e in entries)
    return ZipDirectory(entries, start, start + length, end.trailing, uncounted)


def _all_entries(
    path: str, data: bytes, start: int, counted: tuple[ZipEntry, ...]
) -> tuple[ZipEntry, ...]:
    """Those behind the counted ones too, as far as they can be read."""
    for count in (data.count(b"PK\x01\x02"), len(counted) + 1):
        checked_limit(path, "the number of zip members", count, MAX_ENTRIES)
        with suppress(FormatError):
            return _parse_entries(path, data, start, count)[0]
    return counted


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


def name_doubts(directory: ZipDirectory) -> list[str]:
    """Names of members that readers may mix up or read differently."""
    doubts: list[str] = []
    name_of: dict[str, str] = {}
    for entry in directory.entries:
        key = entry.name.casefold().replace("\\", "/")
        if key in name_of:
            same = name_of[key] == entry.name
            how = "are called" if same else "are called but for case or slashes"
            doubts.append(f"two members {how} {entry.name!a:.200}")
        name_of[key] = entry.name
        if "\0" in entry.name:
            doubts.append(f"the name {entry.name!a:.200} ends early for some readers")
        if entry.renamed:
            doubts.append(f"an extra field gives {entry.name!a:.200} another name")
        if len(doubts) > MAX_DOUBTS:
            break
    return doubts


def _parse_entries(
    path: str, data: bytes, start: int, count: int
) -> tuple[tuple[ZipEntry, ...], int]:
    """So many members, and how many bytes of the directory they take."""
    entries = []
    at = 0
    for _ in range(count):
        if at + _CENTRAL.size > len(data) or data[at : at + 4] != b"PK\x01\x02":
            raise _broken(path, "a zip directory entry is missing or damaged", start + at)
        fields = _CENTRAL.unpack_from(data, at)
        flags = fields[3]
        method = fields[4]
        crc = fields[7]
        packed = fields[8]
        size = fields[9]
        name_length, extra_length, comment_length = fields[10:13]
        offset = fields[16]
        at += _CENTRAL.size
        after = at + name_length + extra_length + comment_length
        if after > len(data):
            raise _broken(path, "a zip directory entry runs past the directory", start + at)
        name = data[at : at + name_length].decode("utf-8", "backslashreplace")
        extra = data[at + name_length : at + name_length + extra_length]
        if _FULL32 in (size, packed, offset):
            size, packed, offset = _zip64_fields(path, extra, size, packed, offset, start + at)
        renamed = b"\x75\x70" in extra and _has_field(extra, 0x7075)
        entries.append(ZipEntry(name, method, flags, crc, packed, size, offset, renamed))
        at = after
    return tuple(entries), at


def _has_field(extra: bytes, kind: int) -> bool:
    at = 0
    while at + 4 <= len(extra):
        field_kind, length = struct.unpack_from("<2H", extra, at)
        if field_kind == kind:
            return True
        at += 4 + length
    return False


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
            file.path,
            f"no local header for {entry.name!a:.200}",
            entry.header_offset,
            "zip-local-header",
        )
    name_length, extra_length = _LOCAL.unpack_from(local)[9:11]
    local_name = local[_LOCAL.size : _LOCAL.size + name_length]
    if local_name.decode("utf-8", "backslashreplace") != entry.name:
        raise _broken(
            file.path,
            f"the local header of {entry.name!a:.200} has another name",
            entry.header_offset,
            "zip-local-header",
        )
    _check_local(file.path, local, entry)
    return int(entry.header_offset + _LOCAL.size + name_length + extra_length)


def _check_local(path: str, local: bytes, entry: ZipEntry) -> None:
    """A local header says what the directory says: some readers believe the one, some the other."""
    _, _, flags, method, _, _, crc, packed, size, _, _ = _LOCAL.unpack_from(local)
    same = method == entry.method and (flags ^ entry.flags) & _ENCRYPTED == 0
    if same and not flags & _SIZES_FOLLOW:
        same = crc == entry.crc and all(
            local_size in (known, _FULL32)
            for local_size, known in ((packed, entry.packed), (size, entry.size))
        )
    if not same:
        raise _broken(
            path,
            f"the local header of {entry.name!a:.200} and the directory say different things",
            entry.header_offset,
            "zip-local-header",
        )


def read_member(file: Windows, entry: ZipEntry, limit: int) -> bytes:
    """One member's content, stored or deflated, of at most ``limit`` bytes.

    Raises FormatError (zip-local-header, zip-member, zip-encrypted), LimitError, and
    UnsupportedFormatError for other methods of compression.
    """
    what = f"{entry.name!a:.200}"
    checked_limit(file.path, f"the size of {what} in bytes", max(entry.size, entry.packed), limit)
    if entry.flags & _ENCRYPTED:
        raise _broken(file.path, f"{what} is encrypted", entry.header_offset, "zip-encrypted")
    if not is_readable(entry):
        raise UnsupportedFormatError(
            file.path,
            f"{what} is compressed by method {entry.method}",
            expected="stored (0) or deflated (8)",
        )
    begin = data_offset(file, entry, read_along=entry.packed)
    packed = file.read(begin, begin + entry.packed)
    data = packed if entry.method == _STORED else _inflate(file.path, packed, entry)
    if len(data) != entry.size:
        raise _broken(
            file.path,
            f"{what} has {len(data):,} bytes instead of {entry.size:,}",
            begin,
            "zip-member",
        )
    return data


def beginning_stop(entry: ZipEntry) -> int:
    """Up to where ``member_head`` reads for the first SNIFF_BYTES of a member."""
    name = len(entry.name.encode("utf-8", "backslashreplace"))
    return entry.header_offset + _LOCAL.size + name + LOCAL_EXTRA_GUESS + SNIFF_BYTES


def is_readable(entry: ZipEntry) -> bool:
    """Whether a member is compressed in a way that is unpacked here, if at all."""
    return entry.method in (_STORED, _DEFLATED)


def member_head(file: Windows, entry: ZipEntry, count: int) -> bytes:
    """The first bytes of a member, stored or deflated; empty where they cannot be had."""
    begin = data_offset(file, entry, read_along=count)
    packed = file.read(begin, begin + min(entry.packed, count))
    if entry.method == _STORED:
        return packed
    if entry.method != _DEFLATED:
        return b""
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, count)
    except zlib.error:
        return b""


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
            path,
            f"{entry.name!a:.200} cannot be inflated ({error})",
            entry.header_offset,
            "zip-member",
        ) from None
    if len(data) > entry.size:
        raise LimitError(
            path,
            f"{entry.name!a:.200} inflates to more than it declares",
            expected=f"{entry.size:,} bytes",
        )
    return data
