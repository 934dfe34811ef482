"""From an address to where a request for it goes.

Nearly every address is a plain one. Others (letters that are not ASCII, a password, ``..``, an IPv6
host) are read by the HTTP library that huggingface_hub uses, whose rules apply to them.
"""

import functools
import re
from base64 import b64encode
from typing import Any, Final
from urllib.parse import urlsplit

from ....core.refs import masked
from ....core.text import clean
from .connection import HttpOrigin, RequestTarget

_PORTS: Final = {"http": 80, "https": 443}
_LAST_PORT: Final = 65_535
#: RFC 3986: what may stand in a path as it is; a query may have ``/`` and ``?`` in addition.
_CHARACTERS: Final = r"A-Za-z0-9\-._~!$&()*+,;=:@%"
_PLAIN = re.compile(
    rf"(https?)://([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::([1-9][0-9]{{0,4}}))?"
    rf"((?:/[{_CHARACTERS}]*)*)(\?[{_CHARACTERS}/?]*)?"
)
_NO_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def target_of(url: str) -> tuple[HttpOrigin, RequestTarget]:
    """Where a request for an address goes. Raises the library's InvalidURL for what is none."""
    plain = _PLAIN.fullmatch(url)
    if plain is None or "/." in plain[4] or _NO_ESCAPE.search(url):
        return _by_library(url)
    scheme, host, port, path, query = plain.groups()
    usual = _PORTS[scheme]
    number = int(port or usual)
    if number > _LAST_PORT:
        return _by_library(url)
    header = host if number == usual else f"{host}:{number}"
    return HttpOrigin(scheme, host, number), RequestTarget(
        url, (path or "/") + (query or ""), header
    )


def _by_library(url: str) -> tuple[HttpOrigin, RequestTarget]:
    from .http_library import http_library

    read: Any = http_library().URL(url)
    scheme = str(read.scheme)
    if scheme not in _PORTS:
        raise http_library().UnsupportedProtocol("only http and https")
    login = None
    if read.userinfo:  # https://me:password@mirror
        secret = b64encode(f"{read.username}:{read.password}".encode())
        login = f"Basic {secret.decode()}"
    origin = HttpOrigin(scheme, read.raw_host.decode("ascii"), read.port or _PORTS[scheme])
    path = read.raw_path.decode("ascii")
    host = read.netloc.decode("ascii")
    return origin, RequestTarget(str(read), path, host, login)


def is_same_host(endpoint: str, url: str) -> bool:
    """Whether an address is on the endpoint's own scheme, host and port, or its https twin."""
    theirs = _origin(url)
    ours = _origin(endpoint)
    return theirs == ours or (
        ours == ("http", theirs[1], 80) and theirs == ("https", theirs[1], 443)
    )


def is_web_address(url: str) -> bool:
    """Whether it is http(s) with a host and a port that there can be."""
    _, host, port = _origin(url)
    return bool(host and port)


def origin_text(url: str) -> str:
    """Scheme, host and port of an address: what messages show of one that is signed, or has a
    password. As it is where it is none."""
    scheme, host, port = _origin(url)
    if not host or not port:
        return clean(masked(url), 100)
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}" + ("" if port == _PORTS[scheme] else f":{port}")


#: Names for which the codec of names has nothing to do; to import it takes a millisecond.
_PLAIN_HOST = re.compile(r"[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*")


@functools.lru_cache(maxsize=256)
def _origin(url: str) -> tuple[str, str, int]:
    """(scheme, host, port); port 0 where the scheme is not http(s) or the address is none."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        port = _PORTS.get(parts.scheme, 0) and (parts.port or _PORTS[parts.scheme])
        if not _PLAIN_HOST.fullmatch(host):
            host.encode("idna")  # as the socket will; raises UnicodeError, a ValueError
    except ValueError:
        return ("", "", 0)
    return (parts.scheme, host, port)
