"""GGUF files written by hand: what llama.cpp writes, and what it never would."""

from __future__ import annotations

import struct
from collections.abc import Sequence

U8 = 0
U32 = 4
F32 = 6
BOOL = 7
STRING = 8
ARRAY = 9
U64 = 10


class GgufWriter:
    """A header in parts; ``order`` is "<" or ">"."""

    def __init__(self, order: str = "<", version: int = 3) -> None:
        self.order = order
        self.version = version
        self.keys: list[bytes] = []
        self.infos: list[bytes] = []
        self.data = b""

    def pack(self, codes: str, *values: object) -> bytes:
        return struct.pack(self.order + codes, *values)

    def string(self, value: str | bytes) -> bytes:
        raw = value.encode() if isinstance(value, str) else value
        return self.pack("Q", len(raw)) + raw

    def raw_key(self, key: str, kind: int, value: bytes) -> GgufWriter:
        self.keys.append(self.string(key) + self.pack("I", kind) + value)
        return self

    def text(self, key: str, value: str) -> GgufWriter:
        return self.raw_key(key, STRING, self.string(value))

    def u32(self, key: str, value: int) -> GgufWriter:
        return self.raw_key(key, U32, self.pack("I", value))

    def texts(self, key: str, values: Sequence[str]) -> GgufWriter:
        body = b"".join(self.string(value) for value in values)
        return self.raw_key(key, ARRAY, self.pack("IQ", STRING, len(values)) + body)

    def numbers(self, key: str, values: Sequence[int]) -> GgufWriter:
        body = self.pack(f"{len(values)}I", *values)
        return self.raw_key(key, ARRAY, self.pack("IQ", U32, len(values)) + body)

    def tensor(self, name: str | bytes, shape: Sequence[int], kind: int, offset: int) -> GgufWriter:
        """``shape`` row-major, as torch has it."""
        dims = list(reversed(shape))
        self.infos.append(
            self.string(name) + self.pack(f"I{len(dims)}QIQ", len(dims), *dims, kind, offset)
        )
        return self

    def header(self, tensors: int | None = None, keys: int | None = None) -> bytes:
        return (
            b"GGUF"
            + self.pack("I", self.version)
            + self.pack("Q", len(self.infos) if tensors is None else tensors)
            + self.pack("Q", len(self.keys) if keys is None else keys)
            + b"".join(self.keys)
            + b"".join(self.infos)
        )

    def bytes(self, data: int, alignment: int = 32) -> bytes:
        """The file with ``data`` bytes of tensors."""
        head = self.header()
        return head + bytes(-len(head) % alignment) + bytes(data)


def one_tensor(order: str = "<", kind: int = 0, shape: Sequence[int] = (2, 4)) -> GgufWriter:
    writer = GgufWriter(order).text("general.architecture", "llama").u32("llama.block_count", 1)
    return writer.tensor("blk.0.attn_q.weight", shape, kind, 0)
