"""Answers of servers that may say anything: what is taken from them is right, or nothing is."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.sources.hub.model_info import Listing, parse_listing
from hfinspect.sources.hub.wire.address import is_same_host, is_web_address
from hfinspect.sources.hub.wire.answer import (
    Answer,
    BrokenAnswerError,
    RangePart,
    TooLongError,
    UnusableAnswerError,
    parse_json,
)
from hfinspect.sources.hub.wire.http_library import http_library

BROKEN = (BrokenAnswerError, UnusableAnswerError)


def _answer(status: int, headers: dict[str, str], body: bytes, piece: int = 7) -> Answer:
    """A streamed answer of the real HTTP library, coming in pieces."""
    httpx = http_library()

    def pieces() -> Iterator[bytes]:
        for at in range(0, len(body), piece):
            yield body[at : at + piece]

    request = httpx.Request("GET", "http://127.0.0.1/x/resolve/main/y")
    response: Any = httpx.Response(status, headers=headers, content=pieces(), request=request)
    return Answer(response, lambda: 0.0, 1.0)


_HEADERS = st.dictionaries(
    st.sampled_from(["content-range", "content-length", "content-encoding", "content-type"]),
    st.sampled_from(
        ["gzip", "identity", "br", "bytes 0-3/9", "bytes 2-3/*", "bytes */4", "4", "-1"]
    )
    | st.from_regex(r"bytes [0-9]{1,2}-[0-9]{1,2}/([0-9]{1,2}|\*)", fullmatch=True)
    | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
)


@given(st.sampled_from([200, 206, 416]), _HEADERS, st.binary(max_size=40), st.data())
def test_a_part_is_never_longer_than_asked(
    status: int, headers: dict[str, str], body: bytes, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, 30))
    stop = data.draw(st.integers(start + 1, 60))
    try:
        part = _answer(status, headers, body).part(start, stop)
    except BROKEN:
        return
    assert len(part.data) <= stop - start
    if status == 206:
        assert part.data == body
        assert part.size is None or len(part.data) == min(stop, part.size) - start


@given(st.binary(max_size=60), st.integers(0, 70), st.integers(1, 70))
def test_a_right_answer_gives_the_slice(body: bytes, start: int, length: int) -> None:
    """Whether the server does ranges, ignores them, or compresses what it ignores them for."""
    stop = start + length
    expected = body[start:stop]
    whole = _answer(200, {"content-length": str(len(body))}, body).part(start, stop)
    assert whole == RangePart(expected, len(body))
    packed = _answer(200, {"content-encoding": "gzip"}, gzip.compress(body)).part(start, stop)
    assert packed.data == expected
    if expected:
        headers = {"content-range": f"bytes {start}-{start + len(expected) - 1}/{len(body)}"}
        assert _answer(206, headers, expected).part(start, stop) == RangePart(expected, len(body))
    else:
        headers = {"content-range": f"bytes */{len(body)}"}
        assert _answer(416, headers, b"x").part(start, stop) == RangePart(b"", len(body))


_SPANS = [(0, 3), (5, 9)]
_KIND = "multipart/byteranges; boundary=b"


def _several(body: bytes, spans: list[tuple[int, int]], *, size: int | None = None) -> bytes:
    size = len(body) if size is None else size
    parts = [
        b"--b\r\nContent-Type: x/y\r\nContent-Range: bytes %d-%d/%d\r\n\r\n%b\r\n"
        % (start, stop - 1, size, body[start:stop])
        for start, stop in spans
    ]
    return b"".join(parts) + b"--b--\r\n"


@given(st.binary(min_size=9, max_size=30).map(lambda data: data + b"\r\n--b--\r\n"))
def test_several_ranges_are_taken_apart_by_their_lengths(body: bytes) -> None:
    answer = _answer(206, {"content-type": _KIND}, _several(body, _SPANS))
    assert answer.parts(_SPANS) == [
        RangePart(body[0:3], len(body)),
        RangePart(body[5:9], len(body)),
    ]


@pytest.mark.parametrize(
    ("spans", "size"),
    [
        ([(0, 3)], None),
        ([(5, 9), (0, 3)], None),
        ([(0, 3), (5, 8)], None),
        ([(0, 3), (5, 9), (9, 10)], None),
        ([(0, 3), (5, 9)], 8),
    ],
)
def test_other_ranges_than_asked_are_none(spans: list[tuple[int, int]], size: int | None) -> None:
    body = bytes(range(10))
    answer = _answer(206, {"content-type": _KIND}, _several(body, spans, size=size))
    assert answer.parts(_SPANS) == []


@given(
    st.sampled_from([200, 206, 416]),
    _HEADERS,
    st.binary(max_size=40)
    | st.binary(max_size=40).map(lambda b: _several(b, _SPANS)[: len(b) * 5]),
    st.booleans(),
)
def test_several_ranges_are_those_asked_or_none(
    status: int, headers: dict[str, str], body: bytes, multipart: bool
) -> None:
    if multipart:
        headers = {**headers, "content-type": _KIND}
    try:
        parts = _answer(status, headers, body).parts(_SPANS)
    except BROKEN:
        return
    assert len(parts) <= 2
    for part, (start, stop) in zip(parts, _SPANS, strict=False):
        assert len(part.data) <= stop - start


def test_an_endless_answer_of_ranges_is_read_no_further_than_asked() -> None:
    kind = {"content-type": _KIND}
    assert _answer(206, kind, bytes(100_000), piece=1000).parts(_SPANS) == []


@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate", "x-gzip"]))
def test_what_does_not_inflate_is_broken(body: bytes, coding: str) -> None:
    try:
        data = _answer(200, {"content-encoding": coding}, body).read_body(10_000)
    except (BrokenAnswerError, TooLongError):
        return
    assert gzip.decompress(body) == data


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_compressed_body_that_is_cut_is_broken(cut: int) -> None:
    with pytest.raises(BrokenAnswerError, match="cut off"):
        _answer(200, {"content-encoding": "gzip"}, gzip.compress(bytes(9000))[:-cut]).read_body(
            10_000
        )


def test_a_gzip_bomb_stops_at_the_limit() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    answer = _answer(200, {"content-encoding": "gzip"}, bomb, piece=len(bomb))
    tracemalloc.start()
    try:
        with pytest.raises(TooLongError):
            answer.read_body(100_000)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000  # never inflated whole
    finally:
        tracemalloc.stop()


@given(st.binary(max_size=60))
def test_json_is_parsed_or_refused(data: bytes) -> None:
    try:
        value = parse_json(data)
    except BrokenAnswerError:
        with pytest.raises(ValueError):
            json.loads(data)
    else:
        assert value == json.loads(data) or value != value


def test_json_nested_beyond_reason_is_refused() -> None:
    with pytest.raises(BrokenAnswerError):
        parse_json(b"[" * 100_000)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["rfilename", "size", "lfs", "sha256", "sha", "id"]), inner
        )
    ),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {"siblings": st.lists(_JSON, max_size=4)},
        optional={"sha": _JSON, "id": _JSON, "gated": _JSON},
    )
    | _JSON
)
def test_a_listing_is_sound_or_refused(answer: object) -> None:
    try:
        listing = parse_listing(answer, "org/model")
    except BrokenAnswerError:
        return
    assert isinstance(listing, Listing)
    assert listing.repo_id.count("/") <= 1
    assert ".." not in listing.repo_id.split("/")
    for path, entry in listing.files.items():
        assert path == entry.path
        assert ".." not in path.split("/")
        assert not path.startswith("/")
        assert entry.size is None or entry.size >= 0


@pytest.mark.parametrize(
    ("endpoint", "url", "same"),
    [
        ("https://hub.example", "https://hub.example/a", True),
        ("https://hub.example", "https://HUB.example:443/a", True),
        ("https://hub.example/mirror", "https://hub.example/a", True),
        ("http://hub.example", "https://hub.example/a", True),
        ("https://hub.example", "http://hub.example/a", False),
        ("https://hub.example", "https://hub.example:8443/a", False),
        ("https://hub.example", "https://cdn.hub.example/a", False),
        ("https://hub.example", "https://hub.example.evil.test/a", False),
        ("https://hub.example", "https://hub.example@evil.test/a", False),
        ("https://hub.example", "//hub.example/a", False),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8001/a", False),
        ("http://127.0.0.1:8000", "https://127.0.0.1/a", False),
    ],
)
def test_who_gets_the_token(endpoint: str, url: str, same: bool) -> None:
    assert is_same_host(endpoint, url) is same


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://x/", "http://[::1", "x", "http://a:b/"]
)
def test_what_is_no_web_address(url: str) -> None:
    assert not is_web_address(url)
    assert is_web_address("http://127.0.0.1:8000/x")
