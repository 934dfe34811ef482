"""Attributes of an HDF5 file's root, by its bytes alone."""

from __future__ import annotations

import base64
import contextlib
import json
import lzma

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfinspect.errors import FormatError, HfinspectError, LimitError
from hfinspect.formats import hdf5
from hfinspect.formats.base import BytesReader
from hfinspect.formats.hdf5 import root_texts
from hfinspect.formats.window import Windows

from ..examples import examples
from ..trust.gadgets import LAMBDA
from ..trust.odd_spellings import LATE


def unpacked(path: object, name: str) -> bytes:
    files = json.loads(path.read_text(encoding="utf-8"))["files"]  # type: ignore[attr-defined]
    return lzma.decompress(base64.b64decode(files[name]))


SMALL = unpacked(LAMBDA, "lambda.h5")
LARGE = unpacked(LATE, "late.h5")


def texts(data: bytes) -> dict[str, bytes]:
    return root_texts(Windows(BytesReader("m.h5", data)))


def test_what_keras_writes() -> None:
    for data in (SMALL, LARGE):
        attributes = texts(data)
        assert attributes["backend"].rstrip(b"\0") == b"torch"
        assert json.loads(attributes["model_config"].rstrip(b"\0"))["class_name"] == "Sequential"


def test_a_text_in_the_header_and_one_in_a_heap() -> None:
    assert SMALL.find(b"GCOL") < 0 or len(SMALL) < 10_000
    assert LARGE.find(b'"class_name"') > 1_000_000


@pytest.mark.parametrize("size", [0, 8, 95, 96, 200, 800, 2_000])
def test_a_file_that_is_cut_short(size: int) -> None:
    with pytest.raises(FormatError):
        texts(LARGE[:size])


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MAX_ATTRIBUTES", 1), ("MAX_HEAP_BYTES", 100), ("MAX_BLOCK_BYTES", 10)):
        with monkeypatch.context() as changed:
            changed.setattr(hdf5, name, value)
            with pytest.raises(LimitError):
                texts(LARGE)


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.integers(0, 255)), max_size=4))
def test_any_damage_is_an_error_of_ours_or_none(changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(SMALL)
    for at, value in changes:
        damaged[at] = value
    with contextlib.suppress(HfinspectError):
        texts(bytes(damaged))


@settings(max_examples=examples(40))
@given(st.binary(max_size=300))
def test_any_bytes_behind_the_magic(data: bytes) -> None:
    with pytest.raises(HfinspectError):
        texts(hdf5.MAGIC + data)
