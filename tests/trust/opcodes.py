"""Pickles written opcode by opcode, so that nothing is imported to write them."""

from __future__ import annotations

import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class Raw:
    """Opcodes that leave one value on the stack."""

    code: bytes


def value(item: object) -> bytes:
    """The opcodes of protocol 2 that push a plain value."""
    if isinstance(item, Raw):
        return item.code
    if item is None or isinstance(item, bool):
        return {None: b"N", True: b"\x88", False: b"\x89"}[item]
    if isinstance(item, int):
        return b"J" + struct.pack("<i", item)
    if isinstance(item, str):
        raw = item.encode()
        return b"X" + struct.pack("<I", len(raw)) + raw
    if isinstance(item, bytes):
        return b"B" + struct.pack("<I", len(item)) + item
    if isinstance(item, tuple):
        return b"(" + b"".join(map(value, item)) + b"t"
    if isinstance(item, list):
        return b"](" + b"".join(map(value, item)) + b"e"
    if isinstance(item, dict):
        pairs = b"".join(value(key) + value(inner) for key, inner in item.items())
        return b"}(" + pairs + b"u"
    raise TypeError(type(item))


def name(dotted: str) -> Raw:
    """GLOBAL of ``module:name``, or of what is before and after the last dot."""
    module, _, attribute = dotted.partition(":") if ":" in dotted else dotted.rpartition(".")
    return Raw(f"c{module}\n{attribute}\n".encode())


def stack_name(dotted: str) -> Raw:
    """STACK_GLOBAL of ``module:path.of.attributes``"""
    module, _, attribute = dotted.partition(":")
    return Raw(value(module) + value(attribute) + b"\x93")


def call(target: Raw | str, *args: object) -> Raw:
    """REDUCE"""
    function = name(target) if isinstance(target, str) else target
    return Raw(function.code + value(args) + b"R")


def get(target: Raw | str, attribute: str) -> Raw:
    return call("builtins.getattr", name(target) if isinstance(target, str) else target, attribute)


def build(target: Raw, state: object) -> Raw:
    return Raw(target.code + value(state) + b"b")


def pickled(content: Raw | bytes, protocol: int = 4) -> bytes:
    code = content.code if isinstance(content, Raw) else content
    return (b"\x80" + bytes([protocol]) if protocol >= 2 else b"") + code + b"."


def frame(code: bytes, extra: int = 0) -> bytes:
    return b"\x95" + struct.pack("<Q", len(code) + extra) + code
