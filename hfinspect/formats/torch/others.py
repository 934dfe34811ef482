"""Pickles in files that are neither a pickle nor a zip archive: NumPy arrays and tar archives."""

from __future__ import annotations

import ast
import re
import struct
from collections.abc import Callable

from ...errors import FormatError, LimitError
from ..base import Reader
from ..pickles.globals import PickleScan, reads_as_pickle
from ..sniff import NOT_WEIGHTS, SNIFF_BYTES, magic_of
from ..window import Part, Windows
from .legacy import scan_pickles

#: Source: numpy/lib/format.py. Version 1 has a length of two bytes, 2 and 3 of four.
_NUMPY_MAGIC = b"\x93NUMPY"
#: NumPy refuses longer ones unless it trusts the file.
MAX_NUMPY_HEADER = 65_536
#: Types of plain numbers, text and bytes, as numpy.save spells them.
_PLAIN = re.compile(r"[|<>=]?[?bBhHiIlLqQefdgFDGuUSVacmM]\d*(\[\w+\])?", re.ASCII)

_BLOCK = 512
#: Members of a tar archive that are looked at.
MAX_TAR_MEMBERS = 1_000
#: Of the pickle in an array of objects; the finding says where it was cut.
MAX_ARRAY_BYTES = 64 * 1024 * 1024
#: What torch.load unpickles of the tar archives of versions before 0.1.10
#: (torch/serialization.py, ``_legacy_load``); numbers lie between their pickles.
#: No loader unpickles these.
_TEXT_MEMBERS = (".py", ".json", ".txt", ".md", ".yaml", ".yml", ".vocab")
_TORCH_MEMBERS = ("storages", "tensors", "pickle")

ScanPart = Callable[[Reader], "list[tuple[str, PickleScan]]"]


def scan_array(file: Windows, head: bytes) -> list[tuple[str, PickleScan]]:
    """The pickle of an array of objects, which follows its header; empty for numbers.

    Raises FormatError and LimitError.
    """
    wide = head[6:7] in (b"\x02", b"\x03")
    begin = 12 if wide else 10
    if len(head) < begin:
        raise FormatError(file.path, "its NumPy header is cut short", rule="numpy-header")
    (length,) = struct.unpack_from("<I" if wide else "<H", head, 8)
    if length > MAX_NUMPY_HEADER:
        found = f"its NumPy header has {length:,} bytes"
        raise LimitError(file.path, found, expected=f"at most {MAX_NUMPY_HEADER:,}")
    header = file.read(begin, begin + length)
    if _is_plain(header):
        return []
    data = file.read(begin + length, begin + length + MAX_ARRAY_BYTES)
    if len(data) == MAX_ARRAY_BYTES:
        found = "its pickled objects are too large to look through"
        raise LimitError(file.path, found, expected=f"at most {MAX_ARRAY_BYTES:,} bytes")
    scans = scan_pickles(file, data)
    return [(f"array, {name}", scan) for name, scan in scans]


def _is_plain(header: bytes) -> bool:
    """Whether an array's header says that it holds no objects."""
    try:
        found = ast.literal_eval(header.decode("utf-8").strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    pending = [found.get("descr") if isinstance(found, dict) else None]
    while pending:
        descr = pending.pop()
        if isinstance(descr, list) and all(isinstance(f, tuple) and len(f) > 1 for f in descr):
            pending += [field[1] for field in descr]
        elif isinstance(descr, tuple) and descr:
            pending.append(descr[0])
        elif not isinstance(descr, str) or not _PLAIN.fullmatch(descr):
            return False
    return True


def scan_tar(file: Windows, scan_part: ScanPart) -> list[tuple[str, PickleScan]]:
    """Pickles in the members of a tar archive.

    Format: POSIX.1-1988 ustar, blocks of 512 bytes. Raises FormatError and LimitError.
    """
    scans: list[tuple[str, PickleScan]] = []
    at, size = 0, file.known_size()
    for _ in range(MAX_TAR_MEMBERS):
        header = file.read(at, at + _BLOCK)
        if len(header) < _BLOCK or not header.strip(b"\0"):
            return scans
        name = header[:100].split(b"\0")[0].decode("utf-8", "replace")
        length = _tar_number(file.path, header[124:136], at)
        if length > size:
            raise FormatError(file.path, "a tar member runs past the file", rule="tar-member")
        scans += _scan_tar_member(file, name, at + _BLOCK, length, scan_part)
        at += _BLOCK + -(-length // _BLOCK) * _BLOCK
    found = f"only {MAX_TAR_MEMBERS:,} members of a tar archive are looked at"
    error = LimitError(file.path, found, expected=f"at most {MAX_TAR_MEMBERS:,}")
    return [*scans, ("archive", PickleScan((), error, 0))]


def _tar_number(path: str, field: bytes, at: int) -> int:
    if field[0] & 0x80:  # GNU: in base 256
        return int.from_bytes(field[1:], "big")
    try:
        return int(field.rstrip(b"\0 ").decode() or "0", 8)
    except (UnicodeDecodeError, ValueError):
        found = "a tar member has no readable size"
        raise FormatError(path, found, rule="tar-member", where=f"byte {at}") from None


def _poses(file: Windows, begin: int, length: int) -> bool:
    """Whether a member with a name of text begins as a pickle, where looking costs no request."""
    if not file.is_near:
        return False
    head = file.read(begin, begin + min(length, SNIFF_BYTES))
    return magic_of(head) is not None or reads_as_pickle(head)


def _scan_tar_member(
    file: Windows, name: str, begin: int, length: int, scan_part: ScanPart
) -> list[tuple[str, PickleScan]]:
    scans: list[tuple[str, PickleScan]] = []
    base = name.removeprefix("./")
    if base in _TORCH_MEMBERS:
        found = "torch.load unpickles this member, with numbers between pickles: not followed"
        error = FormatError(file.path, found, rule="pickle-unfollowed", where=f"byte {begin}")
        scans.append((name, PickleScan((), error, begin)))
    if not length or (base.lower().endswith(_TEXT_MEMBERS) and not _poses(file, begin, length)):
        return scans
    try:
        inner = scan_part(Part(file, f"{file.path}/{base}", begin, length))
    except (FormatError, LimitError) as error:
        if isinstance(error, FormatError) and error.rule in NOT_WEIGHTS:
            return scans
        return [*scans, (name, PickleScan((), error, begin))]
    return [*scans, *((f"{name}, {each}", scan) for each, scan in inner)]
