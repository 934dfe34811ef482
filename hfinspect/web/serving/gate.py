"""Who may ask a server on loopback, which every user of the machine and every web page can reach.

- **Other web pages** can make a browser send requests here. Theirs name another origin, and a page
  whose name was made to lead here (DNS rebinding) names another host: both are refused, and no
  answer allows another origin to read it (CORS).
- **Other users of the machine** do not know the token: 256 random bits a start. It stands behind
  the ``#`` of the address, which a browser sends to nobody, and comes as a header. A cookie would
  go to every server on this host, whatever its port. On Linux the kernel says whose connection it
  is, and that of another user is refused even with the token.
"""

import hmac
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

#: Bytes of a token; a guess at a thousand a second takes longer than the sun shines.
_TOKEN_BYTES: Final = 32
#: Linux's tables of connections; a browser's may be written as IPv6.
_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


class Refusal(NamedTuple):
    """An HTTP status and a sentence."""

    status: int
    why: str


class Gate:
    """``port`` is the server's."""

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._port = port

    def refusal(self, headers: Mapping[str, str], *, asks: bool) -> Refusal | None:
        """Why a request is refused, from its headers (names in small letters); None for one that is
        not. ``asks``: for an answer, not for one of the page's own files."""
        host = headers.get("host", "")
        origin = headers.get("origin")
        if host.lower() not in self._hosts:
            return Refusal(403, "the host that was asked is not this server")
        if asks and origin is None:
            return Refusal(403, "no page of this server asks")
        if origin is not None and origin.lower() != f"http://{host.lower()}":
            return Refusal(403, "another page asks")
        if asks and headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return Refusal(403, "another page asks")
        if asks and not self._knows_token(headers.get("authorization", "")):
            return Refusal(401, "the token is not that of this server")
        return None

    def _knows_token(self, token: str) -> bool:
        expected = f"Bearer {self.token}"
        return hmac.compare_digest(token.encode("utf-8", "replace"), expected.encode())

    def is_stranger(self, client_port: int) -> bool:
        """Whether another user of this machine has opened the connection, as far as it is known.
        Root may do what it likes anyway."""
        if sys.platform != "linux":
            return False
        return owner_of(client_port, self._port) not in (None, 0, os.getuid())


def owner_of(client_port: int, server_port: int) -> int | None:
    """The user whose process holds the client's end of a loopback connection; None where Linux does
    not list it."""
    ends = (f":{client_port:04X}", f":{server_port:04X}")
    for table in _TABLES:
        for fields in _rows(table):
            if fields[1].endswith(ends[0]) and fields[2].endswith(ends[1]):
                return int(fields[7])
    return None


def _rows(table: Path) -> Iterator[list[str]]:
    """``sl local_address rem_address st queues tr:when retransmits uid ...`` of each connection."""
    with suppress(OSError, UnicodeDecodeError), table.open(encoding="ascii") as lines:
        next(lines, None)
        for line in lines:
            fields = line.split()
            if len(fields) > 7 and fields[7].isdecimal():
                yield fields
