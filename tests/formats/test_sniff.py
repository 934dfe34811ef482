"""What lies in place of weights is known by its first bytes, and nothing sound is accused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.errors import FormatError
from hfinspect.formats.sniff import NOT_WEIGHTS, magic_of, raise_if_not_weights, sniff

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 12345\n"


@pytest.mark.parametrize(
    ("head", "rule"),
    [
        (b"", "empty-file"),
        (LFS, "lfs-pointer"),
        (b"# xet version 0\nfilesize = 1\n", "xet-pointer"),
        (b"<!DOCTYPE html><html>", "html-page"),
        (b"\xef\xbb\xbf\r\n  <HTML lang=en>", "html-page"),
        (b'<?xml version="1.0"?><Error><Code>AccessDenied', "error-page"),
        (b'{"error":"Repository not found"}', "error-page"),
        (b"Entry not found", "error-page"),
        (b"\0" * 512, "zero-filled"),
    ],
)
def test_what_lies_in_place_of_weights_is_named(head: bytes, rule: str) -> None:
    assert sniff(head, len(head)) == rule
    with pytest.raises(FormatError) as caught:
        raise_if_not_weights("model.bin", head, len(head))
    assert caught.value.rule == rule
    assert rule in NOT_WEIGHTS


@pytest.mark.parametrize(
    "head",
    [
        b'\x10\0\0\0\0\0\0\0{"__metadata__":{}}',
        b"PK\x03\x04" + b"\0" * 60,
        b"GGUF\x03\0\0\0",
        b"\x80\x02}q\0.",
        b"\0" * 8,
    ],
)
def test_the_beginnings_of_real_formats_are_not_accused(head: bytes) -> None:
    assert sniff(head, 1_000) is None
    raise_if_not_weights("model.bin", head, 1_000)


def test_an_empty_file_is_known_by_its_size_alone() -> None:
    assert sniff(b"", 0) == "empty-file"
    assert sniff(b"", 10) is None


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"PK\x03\x04", "zip"),
        (b"GGUF", "gguf"),
        (b"\x80\x04\x95", "pickle"),
        (b"\x89HDF\r\n\x1a\n", "hdf5"),
        (b"a" * 257 + b"ustar\x0000", "tar"),
        (b"hello", None),
    ],
)
def test_magic_numbers(head: bytes, kind: str | None) -> None:
    assert magic_of(head) == kind


@given(st.binary(max_size=600), st.none() | st.integers(0, 10**12))
def test_any_bytes_have_an_answer(head: bytes, size: int | None) -> None:
    assert sniff(head, size) in {None, *NOT_WEIGHTS}
    magic_of(head)
