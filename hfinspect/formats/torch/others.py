"""Pickles in files that are neither a pickle nor a zip archive: NumPy arrays and tar archives."""

import ast
import re
import struct
from collections.abc import Callable

from ...errors import FormatError, LimitError
from ..base import Reader
from ..pickles.globals import PickleScan, reads_as_pickle
from ..sniff import NOT_WEIGHTS, SNIFF_BYTES, magic_of
from ..window import WindowPart, Windows
from .legacy import scan_pickles
from .unpacking import UnreadPartError

# Source: numpy/lib/format.py. Version 1 has a length of two bytes, 2 and 3 of four.

#: NumPy refuses longer ones unless it trusts the file.
MAX_NUMPY_HEADER = 65_536
#: Types of plain numbers, text and bytes, as numpy.save spells them.
_PLAIN = re.compile(r"[|<>=]?[?bBhHiIlLqQefdgFDGuUSVacmM]\d*(\[\w+\])?", re.ASCII)
#: What such a header is written with. Python takes a frame of C for each sign of ``1+1+1``, and a
#: page's Python ends of 20,000 of them; its parser refuses more than 200 brackets.
_LITERAL = re.compile(
    rb"(?:True|False|None|[\d\s,:(){}\[\]]|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")*"
)

_BLOCK = 512
#: Members of a tar archive that are looked at; data sets have thousands.
MAX_TAR_MEMBERS = 20_000
#: Tar archives are padded to 10 kB as a rule; so far behind their end is looked.
_MAX_PADDING = 1024 * 1024
#: An extended header holds names and times.
_MAX_PAX = 64 * 1024
#: Of the pickle in an array of objects; the finding says where it was cut.
MAX_ARRAY_BYTES = 64 * 1024 * 1024
#: No loader unpickles these.
_TEXT_MEMBERS = (".py", ".json", ".txt", ".md", ".yaml", ".yml", ".vocab")
#: What torch.load unpickles of the tar archives of versions before 0.1.10
#: (torch/serialization.py, ``_legacy_load``); numbers lie between their pickles.
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
        problem = f"its NumPy header has {length:,} bytes"
        raise LimitError(file.path, problem, expected=f"at most {MAX_NUMPY_HEADER:,}")
    header = file.read(begin, begin + length)
    if _is_plain(header):
        return []
    data = file.read(begin + length, begin + length + MAX_ARRAY_BYTES)
    if len(data) == MAX_ARRAY_BYTES:
        problem = "its pickled objects are too large to look through"
        raise LimitError(file.path, problem, expected=f"at most {MAX_ARRAY_BYTES:,} bytes")
    scans = scan_pickles(file, data)
    return [(f"array, {name}", scan) for name, scan in scans]


def _is_plain(header: bytes) -> bool:
    """Whether an array's header says that it holds no objects."""
    if not _LITERAL.fullmatch(header):
        return False
    try:
        content = ast.literal_eval(header.decode("utf-8").strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    pending = [content.get("descr") if isinstance(content, dict) else None]
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

    Format: POSIX.1-2001 pax and GNU, blocks of 512 bytes. Where readers differ in what a header
    says (sizes of members without data, two different sizes, sparse files), an entry without names
    says so. Raises FormatError and LimitError.
    """
    scans: list[tuple[str, PickleScan]] = []
    at = 0
    size = file.known_size()
    ended = False
    wide: int | None = None  # the size that an extended header gives the next member
    for _ in range(MAX_TAR_MEMBERS):
        header = file.read(at, at + 2 * _BLOCK)[:_BLOCK]  # with the beginning of its data
        if len(header) < _BLOCK or (ended and not header.strip(b"\0")):
            return scans
        if not header.strip(b"\0"):
            # Readers stop here, but for those that are to go on behind it.
            ended = True
            behind = _behind(file, at, size)
            if behind is None:
                return scans
            at = behind
            continue
        name = header[:100].split(b"\0")[0].decode("utf-8", "replace")
        length = _tar_number(file.path, header[124:136], at)
        if length < 0 or length > size:
            raise FormatError(file.path, "a tar member runs past the file", rule="tar-member")
        kind = header[156:157]
        doubt = _tar_doubt(kind, length, wide)
        if kind in _EXTENDED:
            wide, doubt = _wide_size(file, kind, at + _BLOCK, length)
        elif kind not in _LONG_NAMES and wide is not None:
            length = wide
            wide = None
        if doubt is not None or length > size:
            doubt = doubt or "a tar member runs past the file"
            error = FormatError(file.path, doubt, rule="tar-member", where=f"byte {at:,}")
            return [*scans, (name, PickleScan((), error, at))]
        scans += _scan_tar_member(file, name, at + _BLOCK, length, scan_part)
        at += _BLOCK + -(-length // _BLOCK) * _BLOCK
    problem = (
        f"only {MAX_TAR_MEMBERS:,} members of a tar archive are looked at: the rest is not checked"
    )
    return [*scans, ("archive", PickleScan((), UnreadPartError(file.path, problem), 0))]


def _behind(file: Windows, at: int, size: int) -> int | None:
    """The first block behind an archive's end that is not empty, as far as padding goes."""
    data = file.read(at, min(size, at + _MAX_PADDING))
    for begin in range(0, len(data), _BLOCK):
        if data[begin : begin + _BLOCK].strip(b"\0"):
            return at + begin
    return None


_EXTENDED = (b"x", b"g", b"X")
_LONG_NAMES = (b"L", b"K")


def _tar_doubt(kind: bytes, length: int, wide: int | None) -> str | None:
    """Why readers may find other members than these behind this one."""
    if kind in (b"1", b"2", b"3", b"4", b"5", b"6") and (length or wide):
        return "a member without data has a size, which some readers pass over and some do not"
    if kind == b"S":
        return "a sparse member, which is not followed"
    if wide is not None and length not in (0, wide) and kind not in _LONG_NAMES:
        return "an extended header gives a member another size than its own header"
    return None


def _wide_size(
    file: Windows, kind: bytes, begin: int, length: int
) -> tuple[int | None, str | None]:
    """The size in an extended header, of files that are too large for the old one; and a doubt."""
    text = file.read(begin, begin + min(length, _MAX_PAX))
    if length > _MAX_PAX or b" GNU.sparse." in text:
        return None, "an extended header that is not followed"
    sizes = re.findall(rb"\d size=([^\n]*)\n", text)
    if not sizes:
        return None, None
    if kind == b"g" or len(sizes) > 1 or not sizes[0].isdigit() or len(sizes[0]) > 18:
        return None, "an extended header gives sizes that readers take differently"
    return int(sizes[0]), None


def _tar_number(path: str, field: bytes, at: int) -> int:
    if field[0] & 0x80:  # GNU: in base 256
        negative = field[0] == 0xFF
        return -1 if negative else int.from_bytes(field[1:], "big")
    try:
        return int(field.rstrip(b"\0 ").decode() or "0", 8)
    except (UnicodeDecodeError, ValueError):
        problem = "a tar member has no readable size"
        raise FormatError(path, problem, rule="tar-member", where=f"byte {at}") from None


def _poses(file: Windows, begin: int, length: int) -> bool:
    """Whether a member with a name of text begins as a pickle: its header was read with it."""
    head = file.read(begin, begin + min(length, SNIFF_BYTES))
    return magic_of(head) is not None or reads_as_pickle(head)


def _scan_tar_member(
    file: Windows, name: str, begin: int, length: int, scan_part: ScanPart
) -> list[tuple[str, PickleScan]]:
    scans: list[tuple[str, PickleScan]] = []
    base = name.removeprefix("./")
    if base in _TORCH_MEMBERS:
        problem = "torch.load unpickles this member, with numbers between pickles: not followed"
        error = FormatError(file.path, problem, rule="pickle-unfollowed", where=f"byte {begin}")
        scans.append((name, PickleScan((), error, begin)))
    if not length or (base.lower().endswith(_TEXT_MEMBERS) and not _poses(file, begin, length)):
        return scans
    try:
        inner = scan_part(WindowPart(file, f"{file.path}/{base}", begin, length))
    except (FormatError, LimitError) as error:
        if isinstance(error, FormatError) and error.rule in NOT_WEIGHTS:
            return scans
        return [*scans, (name, PickleScan((), error, begin))]
    return [*scans, *((f"{name}, {each}", scan) for each, scan in inner)]
