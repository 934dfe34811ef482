"""The rows of docs/wire.md: a server that does something, and what two clients make of it.

Each row is a function that sets a ``Bench`` up, with what is expected of either client. The page's
table is written from them (``python -m tests.readme_tables``), and ``pytest -m wire_matrix`` runs
each of them with both.
"""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest

from .certificates import authority
from .scripted import CERTIFICATE
from .wire_bench import (
    ERROR,
    HEADER,
    LIST,
    READ,
    WAITS,
    Bench,
    Tunnel,
    answer,
    part,
    with_head,
)

SetUp = Callable[[Bench], None]


@dataclass(frozen=True)
class Row:
    """``ours`` and ``theirs`` are what ``Bench.outcome`` says; ``why`` is the reason where the two
    differ."""

    section: str
    what: str
    ours: str
    theirs: str
    why: str
    set_up: SetUp

    @property
    def name(self) -> str:
        return f"{self.section}: {self.what}"


ROWS: list[Row] = []


def row(
    section: str, what: str, ours: str = READ, theirs: str = "", why: str = ""
) -> Callable[[SetUp], SetUp]:
    """Declare a row; ``theirs`` is as ``ours`` where it is not given."""

    def declared(set_up: SetUp) -> SetUp:
        ROWS.append(Row(section, what, ours, theirs or ours, why, set_up))
        return set_up

    return declared


def table() -> str:
    """The rows as Markdown."""
    lines = ["| where | what the server does | hfinspect | huggingface_hub | why they differ |"]
    lines.append("| --- | --- | --- | --- | --- |")
    lines += [
        f"| {one.section} | {one.what} | {one.ours} | {one.theirs} | {one.why} |" for one in ROWS
    ]
    return "\n".join(lines)


def said(
    section: str, what: str, text: bytes, ours: str = READ, theirs: str = "", why: str = ""
) -> None:
    """Declare a row of a server that says the same to each who requests the list."""

    @row(section, what, ours, theirs, why)
    def set_up(bench: Bench) -> None:
        bench.serve(*[[text]] * 6)


def sent(
    section: str, what: str, text: bytes, ours: str = READ, theirs: str = "", why: str = ""
) -> None:
    """The same of a server of which the header of a file is requested."""

    @row(section, what, ours, theirs, why)
    def set_up(bench: Bench) -> None:
        bench.asks_for = "file"
        bench.serve(*[[text]] * 6)


LENGTH = f"Content-Length: {len(LIST)}"
OK = f"HTTP/1.1 200 OK\n{LENGTH}"
CHUNKED = "HTTP/1.1 200 OK\nTransfer-Encoding: chunked"


def chunks(data: bytes, size: int = 40) -> bytes:
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)


# ---- the head of an answer

said("head", "answers", answer())
said("head", "HTTP/1.0", answer(version="1.0"))
said("head", "1,000 headers", answer(LIST, "200 OK", *[f"X-{n}: of a proxy" for n in range(1000)]))
said("head", "a header on two lines", with_head(f"{OK}\nX-Long: a\n b"))
said(
    "head",
    "100 Continue and 103 Early Hints first",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + answer(),
)
said(
    "head",
    "100 Continue 20,000 times, then answers",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000 + answer(),
    ERROR,
    READ,
    "without a limit there need be no answer at all",
)
said("head", "two equal lengths", with_head(f"{OK}\n{LENGTH}"))
said("head", "two lengths that differ", with_head(f"{OK}\nContent-Length: 3"), ERROR)
said("head", "a length that is a word", with_head("HTTP/1.1 200 OK\nContent-Length: two"), ERROR)
said("head", "a header of a megabyte", answer(LIST, "200 OK", "X: " + "x" * (1 << 20)), ERROR)
said("head", "a line that is no header", with_head(f"{OK}\nnothing"), ERROR)
said("head", "another protocol", b"SSH-2.0-OpenSSH_9.9\r\n\r\n", ERROR)
said(
    "head",
    "switches to another protocol",
    answer(LIST, "101 Switching Protocols", "Upgrade: h2c"),
    ERROR,
)
said(
    "head",
    "another transfer coding",
    with_head("HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked"),
    ERROR,
)

# ---- its body

said("body", "in chunks", with_head(CHUNKED, chunks(LIST) + b"0\r\n\r\n"))
said("body", "trailers", with_head(CHUNKED, chunks(LIST) + b"0\r\nX-Sum: 1\r\n\r\n"))
said(
    "body",
    "trailers without end",
    with_head(CHUNKED, chunks(LIST) + b"0\r\n" + b"a: b\r\n" * 100_000 + b"\r\n"),
    ERROR,
)
said("body", "until the connection ends", with_head("HTTP/1.1 200 OK", LIST))
said("body", "gzip", answer(gzip.compress(LIST), "200 OK", "Content-Encoding: gzip"))
said(
    "body",
    "gzip that is cut before its checksum",
    answer(gzip.compress(LIST)[:-9], "200 OK", "Content-Encoding: gzip"),
    ERROR,
    READ,
    "what is cut may be damaged",
)
said(
    "body",
    "an encoding that nobody requested",
    answer(b"(\xb5/\xfd" + LIST, "200 OK", "Content-Encoding: zstd"),
    ERROR,
)


@row(
    "body",
    "100 MB in 100 kB of gzip",
    ERROR,
    READ,
    "a list of a hundred thousand files has 25 MB; more is refused before it fills the memory",
)
def _(bench: Bench) -> None:
    packed = gzip.compress(LIST + b" " * (100 << 20), compresslevel=1)
    bench.serve([answer(packed, "200 OK", "Content-Encoding: gzip")])


said("body", "cut by the connection", answer()[:-9], ERROR)
said("body", "a chunk that is cut", with_head(CHUNKED, chunks(LIST)[:-9]), ERROR)
said("body", "a chunk of a size that is none", with_head(CHUNKED, b"zz\r\n" + LIST), ERROR)
said("body", "a web page", answer(b"<!doctype html>", "200 OK", "Content-Type: text/html"), ERROR)
said("body", "a list of something else", answer(b"[1, 2]"), ERROR)

# ---- ranges

#: Why a range is refused that the library takes.
_RANGE = "nothing proves that these are the bytes that were requested; the library does not look"
sent("range", "206 with Content-Range", part())
sent("range", "206 without Content-Range, of the right length", part(HEADER, "X: y"))
sent("range", "206 without Content-Range, shorter", part(HEADER[:-1], "X: y"), ERROR, READ, _RANGE)
sent(
    "range",
    "Content-Range of other bytes",
    part(HEADER, f"Content-Range: bytes 1-{len(HEADER)}/900"),
    ERROR,
    READ,
    _RANGE,
)
sent("range", "the whole file", answer(HEADER))
sent(
    "range",
    "a file of another size",
    part(HEADER, f"Content-Range: bytes 0-{len(HEADER) - 1}/900"),
    ERROR,
    READ,
    "the size in the list and the size here cannot both be true",
)
sent(
    "range",
    "416, past the end",
    answer(b"", "416 Range Not Satisfiable", "Content-Range: bytes */0"),
    ERROR,
)
sent("range", "a web page", answer(b"<!doctype html>", "200 OK", "Content-Type: text/html"), ERROR)

# ---- statuses

#: Why the library gives up where hfinspect does not.
_ONCE = "the library tries downloads again, not such requests"

for status in (
    "400 Bad Request",
    "401 Unauthorized",
    "403 Forbidden",
    "404 Not Found",
    "418 Teapot",
    "501 Not Implemented",
):
    said("status", status, answer(b"", status), ERROR)


@row("status", "503 twice, then an answer", READ, ERROR, _ONCE)
def _(bench: Bench) -> None:
    bench.serve([answer(b"", "503 Service Unavailable")] * 2 + [answer()])


@row("status", "429 with Retry-After, then an answer", READ, ERROR, _ONCE)
def _(bench: Bench) -> None:
    bench.serve([answer(b"", "429 Too Many Requests", "Retry-After: 1"), answer()])


# ---- connections

#: Why the library waits where hfinspect does not.
_EACH = "the library's timeout is for each read, here it is for the head and for a pace as well"


@row("connection", "is kept for the next request", "reads it, 1 connection")
def _(bench: Bench) -> None:
    server = bench.serve([answer(b"", "307 Temporary Redirect", "Location: /b"), answer()])
    bench.note = lambda: f"{server.connections} connection"


@row("connection", "hangs up before its answer, then answers", READ, ERROR, _ONCE)
def _(bench: Bench) -> None:
    bench.serve([b""], [answer()])


@row("connection", "hangs up in its answer, then answers", READ, ERROR, _ONCE)
def _(bench: Bench) -> None:
    bench.serve([answer()[:-9]], [answer()])


@row("connection", "nobody listens", ERROR)
def _(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        bench.endpoint = f"http://127.0.0.1:{gone.getsockname()[1]}"


@row("connection", "a name that nobody has", ERROR)
def _(bench: Bench) -> None:
    bench.endpoint = "http://hub.invalid"


def _listening(bench: Bench, talk: Callable[[socket.socket], None]) -> None:
    """An endpoint that takes connections and does something with each."""
    server = bench.stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    bench.endpoint = f"http://127.0.0.1:{server.getsockname()[1]}"
    ended = threading.Event()
    bench.stack.callback(ended.set)

    def serve() -> None:
        for _ in range(2):
            try:
                sock, _address = server.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(sock,), daemon=True).start()

    def one(sock: socket.socket) -> None:
        with sock, suppress(OSError):
            while not ended.wait(0.1):
                talk(sock)

    threading.Thread(target=serve, daemon=True).start()


@row("connection", "says nothing", ERROR)
def _(bench: Bench) -> None:
    _listening(bench, lambda sock: None)


@row("connection", "a byte of its head every 0.1 s", ERROR, WAITS, _EACH)
def _(bench: Bench) -> None:
    text = iter(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 9999)
    _listening(bench, lambda sock: sock.sendall(bytes([next(text)])))


@row("connection", "a byte of its body every 0.1 s", ERROR, WAITS, _EACH)
def _(bench: Bench) -> None:
    text = iter([with_head("HTTP/1.1 200 OK", b""), *[b" "] * 9999])
    _listening(bench, lambda sock: sock.sendall(next(text)))


# ---- redirects


def _redirects(bench: Bench, count: int) -> None:
    away = answer(b"", "307 Temporary Redirect", "Location: /again")
    bench.serve([away] * count + [answer()])


@row("redirect", "20 in a row")
def _(bench: Bench) -> None:
    _redirects(bench, 20)


@row("redirect", "21 in a row", ERROR)
def _(bench: Bench) -> None:
    _redirects(bench, 21)


@row("redirect", "the api to another host", "reads it, without the token")
def _(bench: Bench) -> None:
    bench.token = "hf_reader"
    there = bench.serve([answer()])
    bench.endpoint = ""
    bench.serve(
        [answer(b"", "308 Permanent Redirect", f"Location: {there.url}/api/models/org/model")]
    )
    bench.note = lambda: _token_in(there.heads)


@row("redirect", "a file to a storage host", "reads it, without the token")
def _(bench: Bench) -> None:
    bench.token = "hf_reader"
    bench.asks_for = "file"
    there = bench.serve([part()])
    bench.endpoint = ""
    bench.serve([answer(b"", "302 Found", f"Location: {there.url}/f?Signature=s")])
    bench.note = lambda: _token_in(there.heads)


@row("redirect", "to a stranger and back to the Hub", "reads it, without the token")
def _(bench: Bench) -> None:
    bench.token = "hf_reader"
    hub = bench.serve()
    there = bench.serve([answer(b"", "307 Temporary Redirect", f"Location: {hub.url}/back")])
    hub.add([answer(b"", "307 Temporary Redirect", f"Location: {there.url}/"), answer()])
    bench.note = lambda: _token_in([heads[1:] for heads in hub.heads])


def _token_in(heads: list[list[bytes]]) -> str:
    sent = b"".join(head for one in heads for head in one).lower()
    return "with the token" if b"authorization" in sent else "without the token"


for scheme in ("file:///etc/hostname", "ftp://127.0.0.1/a"):
    said("redirect", f"to {scheme}", answer(b"", "302 Found", f"Location: {scheme}"), ERROR)
said(
    "redirect",
    "to an address that is none",
    answer(b"", "302 Found", "Location: http://[::1"),
    ERROR,
)
said("redirect", "to nowhere", answer(b"", "302 Found"), ERROR)


# ---- encryption


def _secure(bench: Bench, certificate: str, host: str = "localhost", days: int = 2) -> None:
    bench.serve([answer()], [answer()], certificate=bench.own.signed(certificate, host, days))


@row("TLS", "an authority of one's own, named by SSL_CERT_FILE")
def _(bench: Bench) -> None:
    bench.trust()
    _secure(bench, "good")


@row("TLS", "the same, named by SSL_CERT_DIR")
def _(bench: Bench) -> None:
    bench.patch.setenv("SSL_CERT_DIR", str(bench.own.hashed(bench.folder)))
    _secure(bench, "good")


@row("TLS", "an authority of one's own that nobody has named", ERROR)
def _(bench: Bench) -> None:
    _secure(bench, "good")


@row("TLS", "another authority", ERROR)
def _(bench: Bench) -> None:
    bench.trust()
    bench.serve([answer()], certificate=authority(bench.folder).signed("unknown"))


@row("TLS", "an expired certificate", ERROR)
def _(bench: Bench) -> None:
    bench.trust()
    _secure(bench, "expired", days=-1)


@row("TLS", "a certificate for another host", ERROR)
def _(bench: Bench) -> None:
    bench.trust()
    _secure(bench, "other", "mirror.example")


@row("TLS", "a self-signed certificate", ERROR)
def _(bench: Bench) -> None:
    bench.trust()
    bench.serve([answer()], certificate=CERTIFICATE)


@row("TLS", "a certificate for an IP address")
def _(bench: Bench) -> None:
    bench.trust()
    _secure(bench, "address", "127.0.0.1")
    bench.endpoint = bench.endpoint.replace("localhost", "127.0.0.1")


@row("TLS", "no encryption where https is requested", ERROR)
def _(bench: Bench) -> None:
    _listening(bench, lambda sock: sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    bench.endpoint = bench.endpoint.replace("http:", "https:")


# ---- proxies


@row("proxy", "HTTP_PROXY", "reads it, through the proxy")
def _(bench: Bench) -> None:
    proxy = bench.serve([answer()])
    bench.endpoint = "http://hub.invalid"
    bench.patch.setenv("http_proxy", proxy.url)
    bench.note = lambda: "through the proxy" if b"http://hub.invalid" in proxy.heads[0][0] else ""


def _tunnelled(bench: Bench, variable: str) -> None:
    bench.trust()
    _secure(bench, "good")
    tunnel = Tunnel()
    bench.stack.callback(tunnel.close)
    bench.patch.setenv(variable, tunnel.url)
    bench.note = lambda: "through the proxy" if tunnel.asked else "directly"


@row("proxy", "HTTPS_PROXY, to an authority of one's own", "reads it, through the proxy")
def _(bench: Bench) -> None:
    _tunnelled(bench, "HTTPS_PROXY")


@row("proxy", "ALL_PROXY", "reads it, through the proxy")
def _(bench: Bench) -> None:
    _tunnelled(bench, "ALL_PROXY")


@row("proxy", "HTTPS_PROXY, and NO_PROXY names the host", "reads it, directly")
def _(bench: Bench) -> None:
    _tunnelled(bench, "HTTPS_PROXY")
    bench.patch.setenv("NO_PROXY", "localhost")


@row("proxy", "wants a password", ERROR)
def _(bench: Bench) -> None:
    proxy = bench.serve(*[[answer(b"", "407 Proxy Authentication Required")]] * 3)
    bench.endpoint = "https://hub.invalid"
    bench.patch.setenv("HTTPS_PROXY", proxy.url)


@row("proxy", "that nobody runs", ERROR)
def _(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        bench.patch.setenv("http_proxy", f"http://127.0.0.1:{gone.getsockname()[1]}")
    bench.endpoint = "http://hub.invalid"


@row("proxy", "of a scheme that nobody knows", ERROR)
def _(bench: Bench) -> None:
    bench.patch.setenv("ALL_PROXY", "carrier://pigeon")
    bench.serve([answer()])


# ---- addresses


def _on_ipv6(bench: Bench, certificate: bool = False) -> None:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            pass
    except OSError:
        pytest.skip("there is no IPv6 here")
    own = bench.own.signed("six", "::1") if certificate else None
    bench.serve([answer()], certificate=own, host="::1")


@row("address", "IPv6")
def _(bench: Bench) -> None:
    _on_ipv6(bench)


@row("address", "IPv6 with TLS")
def _(bench: Bench) -> None:
    bench.trust()
    _on_ipv6(bench, certificate=True)


@row("address", "a password in the endpoint", "reads it, with the password")
def _(bench: Bench) -> None:
    server = bench.serve([answer()])
    bench.endpoint = server.url.replace("//", "//me:secret@")
    bench.note = lambda: (
        "with the password" if b"basic bwu6c2vjcmv0" in server.heads[0][0].lower() else "without it"
    )


@row("address", "a path in the endpoint", "reads it, below the path")
def _(bench: Bench) -> None:
    server = bench.serve([answer()])
    bench.endpoint = f"{server.url}/hub"
    bench.note = lambda: "below the path" if b"GET /hub/api/" in server.heads[0][0] else "elsewhere"


# ---- what a request says


def _header(bench: Bench, name: str) -> None:
    server = bench.serve([answer()])

    def note() -> str:
        head = server.heads[0][0].decode("latin-1").lower()
        return next(
            (line.split(": ", 1)[1] for line in head.split("\r\n") if line.startswith(f"{name}: ")),
            "none",
        )

    bench.note = note


@row("request", "its name (X-Amzn-Trace-Id)", "reads it, a UUID")
def _(bench: Bench) -> None:
    _header(bench, "x-amzn-trace-id")
    seen = bench.note
    bench.note = lambda: "a UUID" if len(seen()) == 36 else seen()


@row("request", "HF_HUB_USER_AGENT_ORIGIN", "reads it, with the origin")
def _(bench: Bench) -> None:
    from huggingface_hub import constants

    bench.patch.setattr(constants, "HF_HUB_USER_AGENT_ORIGIN", "a-notebook/7")
    _header(bench, "user-agent")
    seen = bench.note
    bench.note = lambda: "with the origin" if seen().endswith("; origin/a-notebook/7") else seen()


@row("request", "the token", "reads it, as a bearer")
def _(bench: Bench) -> None:
    bench.token = "hf_reader"
    _header(bench, "authorization")
    seen = bench.note
    bench.note = lambda: "as a bearer" if seen() == "bearer hf_reader" else seen()


@row("request", "HF_HUB_OFFLINE", ERROR)
def _(bench: Bench) -> None:
    from huggingface_hub import constants

    bench.patch.setattr(constants, "HF_HUB_OFFLINE", True)
    bench.serve([answer()])


@row("request", "a session of the user's own (set_client_factory)", "reads it, by that session")
def _(bench: Bench) -> None:
    import huggingface_hub
    from huggingface_hub.utils import _http

    def factory() -> object:
        made = _http.default_client_factory()
        made.headers["x-mine"] = "yes"
        return made

    huggingface_hub.set_client_factory(factory)  # type: ignore[arg-type]
    bench.stack.callback(huggingface_hub.set_client_factory, _http.default_client_factory)
    _header(bench, "x-mine")
    seen = bench.note
    bench.note = lambda: "by that session" if seen() == "yes" else "by another"
