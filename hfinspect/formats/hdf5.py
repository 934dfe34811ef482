"""The attributes of an HDF5 file's root group: where Keras keeps the description of a model.

Format: HDF5 File Format Specification 3.0 (support.hdfgroup.org), superblocks II.A, object headers
IV.A, attributes IV.A.2.m, global heaps III.E. Data sets are never read.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import FormatError, LimitError
from .window import Windows

MAGIC = b"\x89HDF\r\n\x1a\n"
#: Blocks that an object header is spread over.
MAX_BLOCKS = 256
#: Bytes of one block: a message has at most 65,535, and Keras writes some ten.
MAX_BLOCK_BYTES = 4 * 1024 * 1024
#: Attributes of the root: Keras writes some ten.
MAX_ATTRIBUTES = 1_000
#: Heaps with texts that lie outside of the header, together: descriptions of models stay below some
#: megabytes.
MAX_HEAP_BYTES = 64 * 1024 * 1024

_CONTINUATION = 0x10
_ATTRIBUTE = 0x0C
_ATTRIBUTE_INFO = 0x15
_SHARED = 0x02
_STRING = 3
_VARIABLE = 9


class _Attribute(NamedTuple):
    name: str
    kind: int
    data: bytes


def root_texts(file: Windows) -> dict[str, bytes]:
    """Name -> text of the root group's attributes that are one text each.

    Raises FormatError and LimitError, also where attributes lie in a way that is not followed.
    """
    return _Root(file).texts()


class _Root:
    def __init__(self, file: Windows) -> None:
        self._file = file
        self._base = 0
        self._width = self._lengths = 8
        self._left = MAX_HEAP_BYTES
        self._heaps: dict[int, dict[int, bytes]] = {}

    def texts(self) -> dict[str, bytes]:
        texts: dict[str, bytes] = {}
        count = 0
        for kind, data in self._messages(self._root_header()):
            if kind == _ATTRIBUTE_INFO and self._is_dense(data):
                raise self._broken("its attributes lie in a heap, which is not followed")
            if kind == _ATTRIBUTE:
                count += 1
                if count > MAX_ATTRIBUTES:
                    raise self._limit(f"its root group has more than {MAX_ATTRIBUTES:,} attributes")
                attribute = self._attribute(data)
                text = self._text(attribute)
                if text is not None:
                    texts[attribute.name] = text
        return texts

    def _broken(self, problem: str) -> FormatError:
        return FormatError(self._file.path, problem, rule="hdf5")

    def _limit(self, problem: str) -> LimitError:
        return LimitError(self._file.path, problem)

    def _take(self, start: int, length: int) -> bytes:
        data = self._file.read(self._base + start, self._base + start + length)
        if len(data) < length:
            raise self._broken("the file ends inside its header")
        return data

    def _address(self, data: bytes, at: int) -> int:
        return int.from_bytes(data[at : at + self._width], "little")

    def _root_header(self) -> int:
        """The address of the root group's object header."""
        head = self._file.read(0, 128)
        if not head.startswith(MAGIC) or len(head) < 96:
            raise self._broken("its superblock is not at the beginning")
        version = head[8]
        sizes = head[13:15] if version < 2 else head[9:11]
        if version > 3 or any(size not in (4, 8) for size in sizes):
            raise self._broken(f"its superblock has version {version}")
        self._width, self._lengths = sizes
        # Of versions 0 and 1 the root is an entry of a symbol table: after its name, its header.
        first = {0: 24, 1: 28}.get(version, 12)
        self._base = self._address(head, first)
        number = 5 if version < 2 else 3
        return self._address(head, first + number * self._width)

    # ---- object headers

    def _messages(self, address: int) -> Iterator[tuple[int, bytes]]:
        start = self._take(address, 16)
        blocks: list[tuple[int, int]]
        if start.startswith(b"OHDR"):
            flags = start[5]
            at = address + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
            size_bytes = 1 << (flags & 3)
            length = int.from_bytes(self._take(at, size_bytes), "little")
            blocks = [(at + size_bytes, length)]
            layout = struct.Struct("<BHB")
            extra = 2 if flags & 4 else 0
        elif start[0] == 1:
            blocks = [(address + 16, int.from_bytes(start[8:12], "little"))]
            layout = struct.Struct("<HHB3x")
            extra = 0
        else:
            raise self._broken("its root group has no known header")
        for number, (at, length) in enumerate(blocks):
            if number >= MAX_BLOCKS or length > MAX_BLOCK_BYTES:
                raise self._limit("the header of its root group is too large")
            data = self._take(at, length)
            for kind, flags, message in self._in_block(data, layout, extra):
                if kind == _CONTINUATION:
                    blocks.append(self._continued(message, old=layout.size == 8))
                elif kind in (_ATTRIBUTE, _ATTRIBUTE_INFO) and flags & _SHARED:
                    raise self._broken("it shares attributes, which is not followed")
                else:
                    yield kind, message

    def _in_block(
        self, data: bytes, layout: struct.Struct, extra: int
    ) -> Iterator[tuple[int, int, bytes]]:
        at = 0
        while at + layout.size + extra <= len(data):
            kind, size, flags = layout.unpack_from(data, at)
            at += layout.size + extra
            if at + size > len(data):
                raise self._broken("a message runs past its header")
            yield kind, flags, data[at : at + size]
            at += size

    def _continued(self, message: bytes, *, old: bool) -> tuple[int, int]:
        at = self._address(message, 0)
        length = int.from_bytes(message[self._width : self._width + self._lengths], "little")
        return (at, length) if old else (at + 4, max(length - 8, 0))  # OCHK, checksum

    def _is_dense(self, data: bytes) -> bool:
        """Whether attributes lie in a heap of their own."""
        at = 2 + (2 if data[1:2] and data[1] & 1 else 0)
        return data[at : at + self._width] != b"\xff" * self._width

    # ---- attributes

    def _attribute(self, data: bytes) -> _Attribute:
        if len(data) < 8 or not 1 <= data[0] <= 3:
            raise self._broken("an attribute has an unknown version")
        sizes = struct.unpack_from("<3H", data, 2)
        at = 9 if data[0] == 3 else 8
        if data[0] > 1 and data[1]:
            raise self._broken("an attribute's type lies elsewhere, which is not followed")
        parts = []
        for size in sizes:
            parts.append(data[at : at + size])
            at += -(-size // 8) * 8 if data[0] == 1 else size
        name, kind, _ = parts
        text = name.split(b"\0")[0].decode("utf-8", "backslashreplace")
        return _Attribute(text, kind[0] & 0x0F if kind else 0, data[at:])

    def _text(self, attribute: _Attribute) -> bytes | None:
        """The attribute as it stands; None for numbers."""
        if attribute.kind == _STRING:
            return attribute.data
        if attribute.kind != _VARIABLE:
            return None
        step = 8 + self._width
        texts = [
            self._from_heap(attribute.data[at + 4 : at + step])
            for at in range(0, len(attribute.data) - step + 1, step)
        ]
        return b"\n".join(texts)

    def _from_heap(self, place: bytes) -> bytes:
        """An object of a global heap, by the heap's address and the object's number."""
        heap = self._address(place, 0)
        number = int.from_bytes(place[self._width :], "little")
        if not heap or not number:
            return b""
        if heap not in self._heaps:
            self._heaps[heap] = self._read_heap(heap)
        if number not in self._heaps[heap]:
            raise self._broken("a heap lacks an attribute's text")
        return self._heaps[heap][number]

    def _read_heap(self, heap: int) -> dict[int, bytes]:
        """Number -> object of one global heap."""
        first = 8 + self._lengths
        head = self._take(heap, first)
        size = int.from_bytes(head[8:], "little")
        if not head.startswith(b"GCOL") or size < first:
            raise self._broken("a heap is not where an attribute says")
        self._left -= size
        if self._left < 0:
            raise self._limit("its texts are too large")
        data = self._take(heap, size)
        at = first
        objects: dict[int, bytes] = {}
        while at + first <= size:
            number = int.from_bytes(data[at : at + 2], "little")
            length = int.from_bytes(data[at + 8 : at + first], "little")
            if not number or at + first + length > size:
                break
            objects.setdefault(number, data[at + first : at + first + length])
            at += first + -(-length // 8) * 8
        return objects
