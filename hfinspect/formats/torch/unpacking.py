"""Pickles in compressed files, as joblib, pandas and people's own ``gzip.open`` write them.

joblib/compressor.py knows a compressed file by its first bytes, whatever it is called, and
unpickles what it unpacks. So it is unpacked here too, in memory, up to a size and a ratio.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Protocol

from ...errors import FormatError, LimitError
from ..pickles.globals import PickleScan
from ..sniff import NOT_WEIGHTS
from ..window import Windows

#: So many bytes are unpacked; what lies behind them is said to be not looked at.
MAX_UNPACKED_BYTES = 128 * 1024 * 1024
#: DEFLATE reaches 1,032 to 1 at most. xz and bzip2 go beyond that with zeros alone, ...
MAX_RATIO = 1_100
#: ... which is allowed up to here.
FREE_BYTES = 16 * 1024 * 1024
#: Compressed bytes that are read at first, then four times as much each time.
FIRST_READ = 256 * 1024
#: Bytes that are unpacked at once.
STEP = 1024 * 1024
#: Streams in a row, as ``cat a.gz b.gz`` makes them.
MAX_STREAMS = 1_000

#: Scans a file that is in memory, by its name and bytes.
ScanMember = Callable[[str, bytes], "list[tuple[str, PickleScan]]"]


class UnreadPartError(LimitError):
    """A part of a file that was not looked at: nothing is known to be wrong with it."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _new(kind: str) -> _Decompressor:
    if kind == "gzip":
        return zlib.decompressobj(31)
    if kind == "zlib":
        return zlib.decompressobj(15)
    return bz2.BZ2Decompressor() if kind == "bzip2" else lzma.LZMADecompressor()


#: Kinds of ``formats.sniff.magic_of`` that are unpacked ...
UNPACKED = frozenset({"gzip", "zlib", "bzip2", "xz", "lzma"})
#: ... and that joblib and pandas would unpack, but Python's library cannot.
UNREAD = {
    "lz4": "it is compressed with LZ4, which is not unpacked here",
    "zstd": "it is compressed with Zstandard, which is not unpacked here",
}


class _Unpacking:
    """One file, piece by piece."""

    def __init__(self, file: Windows, kind: str) -> None:
        self._file = file
        self._kind = kind
        self._machine = _new(kind)
        self._streams = 1
        self._taken = 0
        self.out = bytearray()

    def run(self) -> None:
        """Raises UnreadPartError at a limit, FormatError where the data is damaged."""
        step = FIRST_READ
        while data := self._file.read(self._taken, self._taken + step):
            self._taken += len(data)
            step *= 4
            try:
                self._feed(data)
            except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
                problem = f"its {self._kind} data is damaged: {error}"
                raise FormatError(self._file.path, problem, rule="compressed") from None
        if not self._machine.eof:
            raise FormatError(self._file.path, "its compressed data ends early", rule="compressed")

    def _feed(self, data: bytes) -> None:
        while True:
            if self._machine.eof:
                data = (self._machine.unused_data or data).lstrip(b"\0")
                if not data:
                    return
                self._streams += 1
                if self._streams > MAX_STREAMS:
                    raise self._limit(f"only {MAX_STREAMS:,} compressed streams are unpacked")
                self._machine = _new(self._kind)
            output = self._machine.decompress(data, STEP)
            self.out += output
            self._check()
            data = getattr(self._machine, "unconsumed_tail", b"")
            if not self._machine.eof and not data and len(output) < STEP:
                return
            if self._machine.eof and not self._machine.unused_data:
                return

    def _check(self) -> None:
        if len(self.out) > MAX_UNPACKED_BYTES:
            raise self._limit(f"only {MAX_UNPACKED_BYTES:,} bytes of it are unpacked")
        if len(self.out) > FREE_BYTES and len(self.out) > MAX_RATIO * self._taken:
            raise self._limit(f"it unpacks to more than {MAX_RATIO:,} times its size")

    def _limit(self, problem: str) -> UnreadPartError:
        return UnreadPartError(self._file.path, f"{problem}: the rest is not checked")


def scan_compressed(
    file: Windows, kind: str, scan_member: ScanMember
) -> list[tuple[str, PickleScan]]:
    """Names in the pickles of a compressed file; empty where it holds none.

    A loader runs what comes before damage, so what could be unpacked is looked at all the same.
    Raises FormatError and LimitError.
    """
    if kind in UNREAD:
        # Loaders unpack and unpickle the whole of it, so it is no part like another.
        return [(kind, PickleScan((), LimitError(file.path, UNREAD[kind]), 0))]
    unpacking = _Unpacking(file, kind)
    stopped: FormatError | UnreadPartError | None = None
    try:
        unpacking.run()
    except (FormatError, UnreadPartError) as error:
        stopped = error
    scans: list[tuple[str, PickleScan]] = []
    try:
        scans = scan_member(f"{file.path}, unpacked", bytes(unpacking.out))
    except FormatError as error:
        if error.rule not in NOT_WEIGHTS and unpacking.out:
            scans = [("unpacked", PickleScan((), error, 0))]
    if isinstance(stopped, UnreadPartError) or (stopped is not None and scans):
        scans.append(("unpacked", PickleScan((), stopped, 0)))
    return [(f"{kind}, {name}", scan) for name, scan in scans]
