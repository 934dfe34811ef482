"""Floats that are not finite, known by their bytes, against what decodes them one by one."""

from __future__ import annotations

import math
import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfinspect.auditing.facts.values import FLOATS, ValueScan, marks

from ..examples import examples


def decoded(dtype: str, item: bytes) -> float:
    """The value of one element, by the textbook."""
    if dtype in ("F64", "F32", "F16"):
        return float(struct.unpack({"F64": "<d", "F32": "<f", "F16": "<e"}[dtype], item)[0])
    if dtype == "BF16":
        return float(struct.unpack("<f", b"\0\0" + item)[0])
    byte = item[0]
    if dtype == "F8_E4M3":
        return math.nan if byte & 0x7F == 0x7F else 1.0
    if dtype == "F8_E5M2":
        if byte & 0x7C != 0x7C:
            return 1.0
        return math.inf if byte & 0x03 == 0 else math.nan
    if dtype == "F8_E8M0":
        return math.nan if byte == 0xFF else 1.0
    return math.nan if byte == 0x80 else 1.0  # the FNUZ kinds


REAL = [dtype for dtype in FLOATS if not dtype.startswith("C")]


@pytest.mark.parametrize("dtype", [dtype for dtype in REAL if FLOATS[dtype].size <= 2])
def test_every_pattern(dtype: str) -> None:
    size = FLOATS[dtype].size
    items = [number.to_bytes(size, "little") for number in range(256**size)]
    pattern = marks(FLOATS[dtype], b"".join(items))
    assert list(pattern) == [not math.isfinite(decoded(dtype, item)) for item in items]


@pytest.mark.parametrize("dtype", REAL)
@given(data=st.data())
@settings(max_examples=examples(40), derandomize=True)
def test_scan_finds_the_first(dtype: str, data: st.DataObject) -> None:
    size = FLOATS[dtype].size
    special = st.sampled_from(
        [
            b"\0" * size,
            b"\xff" * size,
            b"\x7f" * size,
            b"\0" * (size - 1) + b"\x7f",
            b"\x80\x7f".rjust(size, b"\0")[-size:],
            b"\xf0\xff".rjust(size, b"\0")[-size:],
        ]
    )
    items = data.draw(st.lists(special | st.binary(min_size=size, max_size=size), max_size=40))
    raw = b"".join(items)
    scan = ValueScan(FLOATS[dtype])
    at = 0
    while at < len(raw):  # in pieces that do not end where elements do
        step = data.draw(st.integers(1, 23))
        scan.feed(raw[at : at + step])
        at += step
    bad = [i for i, item in enumerate(items) if not math.isfinite(decoded(dtype, item))]
    assert scan.count == len(bad)
    assert scan.first == (bad[0] if bad else -1)
    if bad:
        assert scan.nan == math.isnan(decoded(dtype, items[bad[0]]))
    assert scan.zero == (not raw.strip(b"\0"))


def test_values_are_scanned_fast() -> None:
    """Worst case: every top byte is a candidate, no value is special."""
    import time

    data = b"\x00\x7f" * 2**22
    started = time.process_time()
    scan = ValueScan(FLOATS["BF16"])
    scan.feed(data)
    assert scan.count == 0
    assert time.process_time() - started < 1.0  # 8 MiB; takes some 20 ms


def test_integers_are_only_looked_at_for_zeros() -> None:
    scan = ValueScan(None)
    scan.feed(random.Random(1).randbytes(100))
    assert (scan.count, scan.zero) == (0, False)
