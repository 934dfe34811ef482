"""PyTorch files written by hand, without torch: what torch.save writes, and what it never would."""

from __future__ import annotations

import pickle
import struct
import zlib
from collections.abc import Mapping, Sequence

CENTRAL = struct.Struct("<4s6H3L5H2L")
LOCAL = struct.Struct("<4s5H3L2H")

FLOAT = b"ctorch\nFloatStorage\n"
ORDERED_DICT = b"ccollections\nOrderedDict\n"


def text(value: str) -> bytes:
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def number(value: int) -> bytes:
    return (
        b"J" + struct.pack("<i", value) if value < 2**31 else b"\x8a\x08" + struct.pack("<q", value)
    )


def numbers(values: Sequence[int]) -> bytes:
    return b"(" + b"".join(number(value) for value in values) + b"t"


def storage(key: str, count: int, kind: bytes = FLOAT) -> bytes:
    return b"(" + text("storage") + kind + text(key) + text("cpu") + number(count) + b"tQ"


def tensor(
    key: str,
    shape: Sequence[int],
    *,
    count: int | None = None,
    offset: int = 0,
    stride: Sequence[int] | None = None,
    kind: bytes = FLOAT,
) -> bytes:
    """The opcodes that leave one tensor on the stack, contiguous unless ``stride`` is given."""
    steps: list[int] = []
    total = 1
    for size in reversed(shape):
        steps.insert(0, total)
        total *= size
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n("
        + storage(key, total if count is None else count, kind)
        + number(offset)
        + numbers(shape)
        + numbers(steps if stride is None else stride)
        + b"\x89"
        + ORDERED_DICT
        + b")RtR"
    )


def pickled(entries: Mapping[str, bytes]) -> bytes:
    """A pickle of a dict whose values are given as opcodes."""
    body = b"".join(text(key) + value for key, value in entries.items())
    return b"\x80\x02}(" + body + b"u."


def state_pickle(tensors: Mapping[str, Sequence[int]]) -> bytes:
    """A state dict of float32 tensors, one storage each, keys 0, 1, ..."""
    return pickled(
        {name: tensor(str(key), shape) for key, (name, shape) in enumerate(tensors.items())}
    )


class ZipWriter:
    """A zip archive in memory; ``gap`` leaves a hole that a sparse file would not store."""

    def __init__(self) -> None:
        self.pieces: dict[int, bytes] = {}
        self.central = b""
        self.count = 0
        self.at = 0

    def add(
        self,
        name: str,
        data: bytes,
        *,
        deflate: bool = False,
        size: int | None = None,
        extra: bytes = b"",
        crc: int | None = None,
    ) -> None:
        """A member; ``size`` alone, larger than the data, makes a hole of that size."""
        raw = name.encode()
        method = 8 if deflate else 0
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = packer.compress(data) + packer.flush() if deflate else data
        full = len(data) if size is None else size
        taken = len(packed) if deflate or size is None else size
        check = zlib.crc32(data) if crc is None else crc
        small = [min(value, 0xFFFFFFFF) for value in (taken, full)]
        head = LOCAL.pack(b"PK\x03\x04", 20, 0, method, 0, 0, check, *small, len(raw), len(extra))
        wide = [value for value in (full, taken, self.at) if value >= 0xFFFFFFFF]
        zip64 = struct.pack(f"<HH{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
        self.central += (
            CENTRAL.pack(
                b"PK\x01\x02",
                20,
                20,
                0,
                method,
                0,
                0,
                check,
                *small,
                len(raw),
                len(zip64),
                0,
                0,
                0,
                0,
                min(self.at, 0xFFFFFFFF),
            )
            + raw
            + zip64
        )
        self.pieces[self.at] = head + raw + extra + packed
        self.at += len(head) + len(raw) + len(extra) + taken
        self.count += 1

    def finish(self, comment: bytes = b"", *, zip64: bool = False) -> tuple[int, dict[int, bytes]]:
        """(size of the file, its pieces by offset)."""
        start = self.at
        end = self.at + len(self.central)
        count = self.count
        length = len(self.central)
        where = start
        tail = self.central
        if zip64 or start >= 0xFFFFFFFF:
            tail += struct.pack(
                "<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, length, start
            )
            tail += struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
            count = 0xFFFF
            length = 0xFFFFFFFF
            where = 0xFFFFFFFF
        tail += (
            struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, length, where, len(comment))
            + comment
        )
        self.pieces[start] = tail
        return start + len(tail), self.pieces

    def bytes(self, comment: bytes = b"", *, zip64: bool = False) -> bytes:
        size, pieces = self.finish(comment, zip64=zip64)
        out = bytearray(size)
        for at, data in pieces.items():
            out[at : at + len(data)] = data
        return bytes(out)


def torch_zip(
    pickle_bytes: bytes,
    storages: Mapping[str, int],
    *,
    prefix: str = "archive",
    deflate: bool = False,
    members: Mapping[str, bytes] | None = None,
) -> bytes:
    """An archive as torch.save writes it; ``storages`` are sizes in bytes by key."""
    writer = ZipWriter()
    writer.add(f"{prefix}/data.pkl", pickle_bytes, deflate=deflate, extra=b"FB\x02\x00ZZ")
    writer.add(f"{prefix}/byteorder", b"little")
    for key, size in storages.items():
        writer.add(f"{prefix}/data/{key}", bytes(size))
    for name, data in (members or {}).items():
        writer.add(f"{prefix}/{name}", data)
    writer.add(f"{prefix}/version", b"3\n")
    return writer.bytes()


def state_zip(tensors: Mapping[str, Sequence[int]]) -> bytes:
    """A sound archive of float32 tensors."""
    sizes = {}
    for key, shape in enumerate(tensors.values()):
        count = 4
        for size in shape:
            count *= size
        sizes[str(key)] = count
    return torch_zip(state_pickle(tensors), sizes)


def legacy(pickle_bytes: bytes, storages: Mapping[str, int]) -> bytes:
    """A file as torch.save wrote it before 1.6; ``storages`` are float32 counts by key."""
    head = b"".join(
        pickle.dumps(value, 2)
        for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True, "type_sizes": {}})
    )
    data = b"".join(struct.pack("<q", n) + bytes(4 * n) for n in storages.values())
    return head + pickle_bytes + pickle.dumps(list(storages), 2) + data
