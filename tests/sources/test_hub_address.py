"""Addresses are read as the HTTP library of huggingface_hub reads them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.sources.hub.wire import address
from hfinspect.sources.hub.wire.address import target_of
from hfinspect.sources.hub.wire.connection import HttpOrigin, RequestTarget
from hfinspect.sources.hub.wire.http_library import http_library

PLAIN = {
    "http://hub": (HttpOrigin("http", "hub", 80), RequestTarget("http://hub", "/", "hub")),
    "https://hub.co:443/a": (
        HttpOrigin("https", "hub.co", 443),
        RequestTarget("https://hub.co:443/a", "/a", "hub.co"),
    ),
    "http://127.0.0.1:8080/a%20b?c=d%2Fe~&f=*+": (
        HttpOrigin("http", "127.0.0.1", 8080),
        RequestTarget(
            "http://127.0.0.1:8080/a%20b?c=d%2Fe~&f=*+", "/a%20b?c=d%2Fe~&f=*+", "127.0.0.1:8080"
        ),
    ),
}


@pytest.mark.parametrize("url", PLAIN)
def test_plain_ones_need_no_library(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "_by_library", None)
    assert target_of(url) == PLAIN[url]


OTHERS = {
    "http://HUB/a": ("hub", "/a", None),
    "http://[::1]:9/a": ("[::1]:9", "/a", None),
    "http://hub/a b": ("hub", "/a%20b", None),
    "http://hub/\xf6?\xf6#x": ("hub", "/%C3%B6?%C3%B6", None),
    "http://hub/a/../b": ("hub", "/b", None),
    "http://me:a%40b@hub/": ("hub", "/", "Basic bWU6YUBi"),
}


@pytest.mark.parametrize("url", OTHERS)
def test_others_are_left_to_it(url: str) -> None:
    _, target = target_of(url)
    assert (target.host, target.path, target.login) == OTHERS[url]


def test_what_is_no_address() -> None:
    with pytest.raises(http_library().InvalidURL):
        target_of("http://hub/\r\nx: y")


PIECES = st.sampled_from(
    [
        "/",
        "a",
        "Z",
        "9",
        "-",
        ".",
        "..",
        "_",
        "~",
        "%2F",
        "%e9",
        "%",
        "%zz",
        "?",
        "&",
        "=",
        ":",
        "@",
        "+",
        ",",
        ";",
        "*",
        "(",
        ")",
        "!",
        "$",
        "'",
        "#",
        " ",
        '"',
        "<",
        "{",
        "|",
        "\\",
        "^",
    ]
)


@given(
    st.sampled_from(["http", "https"]),
    st.sampled_from(["hub", "127.0.0.1", "a-b.c", "cdn.hub.co"]),
    st.sampled_from(["", ":80", ":443", ":8080", ":65535"]),
    st.lists(PIECES, max_size=12).map("".join),
)
def test_any_is_read_as_the_library_does(scheme: str, host: str, port: str, rest: str) -> None:
    url = f"{scheme}://{host}{port}/{rest}"
    origin, target = target_of(url)
    read: Any = http_library().URL(url)
    assert origin.scheme == read.scheme and origin.host == read.host
    assert origin.port == (read.port or {"http": 80, "https": 443}[scheme])
    assert target.path.encode() == read.raw_path and target.host.encode() == read.netloc
    assert target.login is None
