"""Connections to a Hub: kept, closed and opened anew as HTTP has it, whatever the server says."""

from __future__ import annotations

import gzip
import socket
import ssl
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfinspect.sources.deadline import Deadline
from hfinspect.sources.hub.wire.address import target_of
from hfinspect.sources.hub.wire.answer import Answer
from hfinspect.sources.hub.wire.connection import (
    MAX_HEAD_BYTES,
    BrokenConnectionError,
    Connection,
    HttpOrigin,
    NoConnectionError,
    RequestTarget,
    UnsendableError,
    WireError,
)
from hfinspect.sources.hub.wire.http import (
    HttpSession,
    Times,
    own_session,
    proxies_are_set,
)
from hfinspect.sources.hub.wire.http_library import http_library
from hfinspect.sources.hub.wire.pipelining import SessionPool
from hfinspect.sources.hub.wire.transport import Transport

from ..examples import examples
from .scripted import CERTIFICATE, OK, scripted

TLS = ssl.create_default_context()
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def times(seconds: float = 5.0) -> Times:
    return Times(seconds, seconds, Deadline(seconds))


@pytest.fixture
def session() -> Iterator[HttpSession]:
    made = own_session(4)
    assert made is not None
    yield made
    made.close()


def body(session: HttpSession, url: str, seconds: float = 5.0) -> bytes:
    with session.sent(url, {}, times(seconds)) as response:
        return b"".join(response.iter_raw())


def transport(tls: ssl.SSLContext | None = None, connections: int = 4) -> Transport:
    return Transport(connections, lambda: tls or TLS)


def ask(by: Transport, url: str) -> bytes:
    reply = by.sent(*target_of(url), {}, 5.0)
    data = b"".join(reply.iter_raw())
    reply.close()
    return data


KEPT = {
    "a length": OK,
    "chunks": CHUNKED + b"1;a=b\r\no\r\n01\r\nk\r\n0\r\n\r\n",
    "trailers": CHUNKED + b"2\r\nok\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n",
    "a compressed length": OK.replace(b": 2", b": 2\r\nContent-Encoding: identity"),
    "old, but kept": OK.replace(b"1.1", b"1.0").replace(
        b"\r\n\r\n", b"\r\nConnection: Keep-Alive\r\n\r\n"
    ),
}


@pytest.mark.parametrize("what", KEPT)
def test_a_connection_is_kept(session: HttpSession, what: str) -> None:
    with scripted([KEPT[what]] * 3) as server:
        assert [body(session, server.url) for _ in range(3)] == [b"ok"] * 3
        assert (server.connections, server.requests) == (1, 3)


def test_an_answer_of_several_parts(session: HttpSession) -> None:
    parts = OK.replace(b": 2", b': 2\r\nContent-Type: multipart/byteranges; boundary="a:b"')
    with scripted([parts, OK]) as server:
        assert [body(session, server.url) for _ in range(2)] == [b"ok"] * 2


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_answers_without_a_body(session: HttpSession, status: bytes) -> None:
    with scripted([b"HTTP/1.1 %b\r\n\r\n" % status, OK]) as server:
        assert (body(session, server.url), body(session, server.url)) == (b"", b"ok")
        assert server.connections == 1


ENDING = {
    "it says so": OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
    "it is old": OK.replace(b"1.1", b"1.0"),
    "there is no length": b"HTTP/1.1 200 OK\r\n\r\nok",
}


@pytest.mark.parametrize("what", ENDING)
def test_a_connection_that_ends_with_its_answer(session: HttpSession, what: str) -> None:
    with scripted([ENDING[what]], [OK]) as server:
        assert [body(session, server.url) for _ in range(2)] == [b"ok"] * 2
        assert server.connections == 2


def test_an_answer_that_is_not_read_to_its_end(session: HttpSession) -> None:
    with scripted([OK, OK], [OK]) as server:
        with session.sent(server.url, {}, times()) as response:
            assert response.status_code == 200
        assert body(session, server.url) == b"ok"
        assert server.ended.wait(5) and server.connections == 2


def test_a_server_that_hung_up_meanwhile(session: HttpSession) -> None:
    with scripted([OK], [OK], [OK]) as server:
        for _ in range(3):
            assert body(session, server.url) == b"ok"
            time.sleep(0.02)  # until its end has come here
        assert (server.connections, server.requests) == (3, 3)


def test_a_server_that_hangs_up_on_a_kept_connection(session: HttpSession) -> None:
    """It has not begun to answer, so the request is sent once more, on a new connection."""
    with scripted([OK, b""], [OK]) as server:
        assert [body(session, server.url) for _ in range(2)] == [b"ok"] * 2
        assert (server.connections, server.requests) == (2, 3)


def test_it_is_sent_only_once_more(session: HttpSession) -> None:
    with scripted([OK, b""], [b""], [OK]) as server:
        assert body(session, server.url) == b"ok"
        with pytest.raises(BrokenConnectionError, match="hangs up without an answer"):
            body(session, server.url)
        assert (server.connections, server.requests) == (2, 3)


@pytest.mark.parametrize(
    "begun", [b"H", b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 100 C\r\n\r\n"]
)
def test_it_is_not_sent_again_once_the_answer_has_begun(session: HttpSession, begun: bytes) -> None:
    with scripted([OK, begun], [OK]) as server:
        assert body(session, server.url) == b"ok"
        with pytest.raises(BrokenConnectionError):
            body(session, server.url)
        assert (server.connections, server.requests) == (1, 2)


def test_what_comes_after_an_answer_is_no_answer(session: HttpSession) -> None:
    """A second answer that nobody has requested is not taken for that of the next request."""
    with scripted([OK + OK.replace(b"ok", b"no")], [OK]) as server:
        assert [body(session, server.url) for _ in range(2)] == [b"ok"] * 2
        assert server.connections == 2


def test_answers_before_the_answer(session: HttpSession) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 9\r\n\r\n"
    with scripted([b"HTTP/1.1 100 Continue\r\n\r\n" * 2 + early * 2 + OK, OK]) as server:
        assert [body(session, server.url) for _ in range(2)] == [b"ok"] * 2
        assert server.connections == 1


LONG = b"x" * (1 << 20)
NO_HEADS = {
    "another protocol": b"SSH-2.0-OpenSSH_9.9\r\n\r\n",
    "a newer version": b"HTTP/2 200\r\n\r\n",
    "no status": b"HTTP/1.1 fine\r\n\r\n",
    "a status of two digits": b"HTTP/1.1 20 OK\r\n\r\n",
    "a line that is no header": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nnothing\r\n\r\nok",
    "a continued line first": b"HTTP/1.1 200 OK\r\n Content-Length: 2\r\n\r\nok",
    "the head of a letter": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nFrom a\r\na: b\r\n\r\nok",
    "a name with a space": b"HTTP/1.1 200 OK\r\nContent Length: 2\r\n\r\nok",
    "a header without a name": b"HTTP/1.1 200 OK\r\n: 2\r\n\r\n",
    "a header that is cut": b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /a",
    "a null in a header": b"HTTP/1.1 200 OK\r\nX:" + b" " * 60_000 + b"\0\r\n\r\n",
    "headers without end": b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 40_000 + b"\r\n",
    "a header of a megabyte": b"HTTP/1.1 200 OK\r\nX: " + LONG + b"\r\n\r\n",
    "a status line of a megabyte": b"HTTP/1.1 200 " + LONG + b"\r\n\r\n",
    "long headers": b"HTTP/1.1 200 OK\r\n" + (b"X: " + LONG[:60_000] + b"\r\n") * 5 + b"\r\n",
    "endless 1xx": b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000 + OK,
    "endless 103": b"HTTP/1.1 103 Early\r\na: b\r\n\r\n" * 10_000 + OK,
    "an upgrade": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
    "a length that is a word": b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok",
    "a negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
    "a length with a sign": b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok",
    "another coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("what", NO_HEADS)
def test_heads_that_are_refused(session: HttpSession, what: str) -> None:
    with scripted([NO_HEADS[what]]) as server:
        with pytest.raises(BrokenConnectionError):
            body(session, server.url)
        assert server.requests == 1


NO_BODIES = {
    "too short": OK.replace(b": 2", b": 3"),
    "a chunk that is cut": CHUNKED + b"5\r\nok",
    "no chunks": CHUNKED,
    "no last chunk": CHUNKED + b"2\r\nok\r\n",
    "a size that is none": CHUNKED + b"2\r\nok\r\nzwei\r\n",
    "a size with a sign": CHUNKED + b"2\r\nok\r\n-2\r\nok\r\n0\r\n\r\n",
    "a long size": CHUNKED + b"2\r\nok\r\n2;" + LONG + b"\r\nok\r\n0\r\n\r\n",
    "endless trailers": CHUNKED + b"2\r\nok\r\n0\r\n" + b"a: b\r\n" * 100_000 + b"\r\n",
}


@pytest.mark.parametrize("what", NO_BODIES)
def test_bodies_that_are_refused(session: HttpSession, what: str) -> None:
    with scripted([NO_BODIES[what]]) as server, pytest.raises(BrokenConnectionError):
        body(session, server.url)


def test_a_large_body_comes_in_pieces(session: HttpSession) -> None:
    sent = bytes(range(256)) * 4096
    pieces = [sent[:5], sent[5:200_000], sent[200_000:]]
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(sent)
    with scripted([whole + sent, CHUNKED + chunks(pieces)]) as server:
        assert body(session, server.url) == sent
        assert body(session, server.url) == sent
        assert server.connections == 1


def test_compressed_bodies_are_inflated_as_before(session: HttpSession) -> None:
    packed = gzip.compress(b"ok" * 1000)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    with scripted([head + packed]) as server, session.sent(server.url, {}, times()) as response:
        assert Answer(response, time.monotonic, 5.0).read_body(10_000) == b"ok" * 1000


def test_headers_as_they_are(session: HttpSession) -> None:
    """Continued lines are joined, what surrounds a value is cut off."""
    said = b"X-Name:  J\xf6rg\xa0\t\r\nX-Long: a\r\n b\r\n\tc\r\nSet-Cookie: a=b\r\n"
    said += b"X-Two: 1\r\nX-Two: 2\r\n"
    with scripted([OK.replace(b"\r\n\r\n", b"\r\n" + said + b"\r\n")]) as server:
        with session.sent(server.url + "/a%20b?c=d", {"x-mine": "1"}, times()) as response:
            assert list(response.headers)[:3] == ["content-length", "x-name", "x-long"]
            assert response.headers["x-name"] == "J\xf6rg\xa0"
            assert response.headers["x-long"] == "a b c"
            assert response.headers["x-two"] == "1, 2"
        [head] = server.heads[0]
        assert head.startswith(b"GET /a%20b?c=d HTTP/1.1\r\n")
        assert b"host: 127.0.0.1:%d\r\n" % server.port in head.lower() and b"x-mine: 1\r\n" in head


def test_a_password_of_the_address_is_sent_as_a_header(session: HttpSession) -> None:
    with scripted([OK]) as server:
        assert body(session, server.url.replace("//", "//me:secret@")) == b"ok"
        [head] = server.heads[0]
        assert b"authorization: basic bwu6c2vjcmv0\r\n" in head.lower()
        assert head.startswith(b"GET / HTTP/1.1\r\n") and b"secret" not in head


def test_nothing_can_be_added_to_a_request(session: HttpSession) -> None:
    mine = {"x-mine": "1\r\nx-more: 2"}
    with scripted([OK]) as server, pytest.raises(UnsendableError):
        session.sent(server.url, mine, times()).__enter__()


def test_no_connections_beyond_those_allowed() -> None:
    """An idle one is closed for another place."""
    by = transport(connections=1)
    with scripted([OK, OK]) as one, scripted([OK, OK]) as other:
        assert ask(by, one.url) == ask(by, other.url) == b"ok"
        assert one.ended.wait(5) and not other.ended.is_set()
        assert ask(by, other.url) == b"ok"
        assert (one.connections, other.connections) == (1, 1)
        by.close()


def test_an_old_connection_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hfinspect.sources.hub.wire.transport.KEPT_SECONDS", 0.0)
    by = transport()
    with scripted([OK, OK], [OK]) as server:
        assert ask(by, server.url) == ask(by, server.url) == b"ok"
        assert server.connections == 2 and server.ended.wait(5)
        by.close()


def test_closing_closes_what_is_idle() -> None:
    by = transport()
    with scripted([OK, OK]) as server:
        ask(by, server.url)
        by.close()
        assert server.ended.wait(5)


def test_encrypted() -> None:
    by = transport(ssl.create_default_context(cafile=str(CERTIFICATE)))
    with scripted([OK, OK], secure=True) as server:
        assert ask(by, server.url) == ask(by, server.url) == b"ok"
        assert server.connections == 1
        by.close()


def test_certificates_are_judged() -> None:
    trusting = ssl.create_default_context(cafile=str(CERTIFICATE))
    with scripted([OK], [OK], [OK], secure=True) as server:
        with pytest.raises(NoConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
            ask(transport(), server.url)  # by nobody that is trusted
        with pytest.raises(NoConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
            ask(transport(trusting), server.url.replace("localhost", "127.0.0.1"))
        assert server.requests == 0


def test_nobody_listens() -> None:
    with scripted() as server:
        pass
    with pytest.raises(NoConnectionError):
        ask(transport(), server.url)


@pytest.mark.parametrize("name", ["http_proxy", "HTTPS_PROXY", "ALL_PROXY"])
def test_with_a_proxy_the_library_connects(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    assert not proxies_are_set()
    with scripted([OK]) as proxy:
        monkeypatch.setenv(name, proxy.url)
        assert proxies_are_set()
        made = own_session(4)
        assert made is not None
        if name == "http_proxy":
            assert body(made, "http://hub.invalid/a") == b"ok"
            assert proxy.heads[0][0].startswith(b"GET http://hub.invalid/a HTTP/1.1\r\n")
        else:
            with pytest.raises(http_library().HTTPError):
                body(made, "https://hub.invalid/a")
            assert proxy.heads[0][0].startswith(b"CONNECT hub.invalid:443 HTTP/1.1\r\n")
        made.close()


def test_exceptions_from_proxies_are_no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert not proxies_are_set()


def test_a_pipeline_uses_one_connection_for_one_request_at_a_time() -> None:
    made = SessionPool()
    with scripted([OK] * 3) as server:
        for _ in range(3):
            with made.sent(server.url, {}, times()) as response:
                assert b"".join(response.iter_raw()) == b"ok"
        assert server.connections == 1
        made.close()


def answered(text: bytes) -> tuple[int, bytes] | None:
    """Status and body that a connection makes of what a server says before it hangs up; None where
    that is refused."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(text)
        theirs.shutdown(socket.SHUT_WR)
        made = Connection(HttpOrigin("http", "hub", 80))
        made.use(ours)
        try:
            reply = made.exchange(RequestTarget("http://hub/", "/", "hub"), {}, 5.0, lambda _: None)
            return reply.status_code, b"".join(reply.iter_raw())
        except (WireError, OSError):
            return None


def answered_by_h11(text: bytes) -> tuple[int, bytes] | None:
    """The same by a parser that is known to be strict."""
    h11 = pytest.importorskip("h11")
    made = h11.Connection(h11.CLIENT)
    made.send(h11.Request(method="GET", target="/", headers=[("Host", "hub")]))
    made.send(h11.EndOfMessage())
    status = 0
    data = b""
    try:
        made.receive_data(text)
        made.receive_data(b"")
        while not isinstance(event := made.next_event(), h11.EndOfMessage):
            if isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                data += bytes(event.data)
            elif not isinstance(event, h11.InformationalResponse):
                return None
    except h11.RemoteProtocolError:
        return None
    return status, data


def chunks(data: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in data) + b"0\r\n\r\n"


HEADERS = st.lists(
    st.sampled_from([b'ETag: "a"', b"X-Empty:", b"Location: /b?c", b"X-A:b", b"Connection: close"])
)
PIECES = st.lists(st.binary(min_size=1, max_size=40), max_size=5)


@given(HEADERS, PIECES, st.sampled_from([200, 206, 302, 404]), st.booleans(), st.integers(0, 2))
@settings(max_examples=examples(60), deadline=None)
def test_any_good_answer_is_read(
    headers: list[bytes], pieces: list[bytes], status: int, is_chunked: bool, early: int
) -> None:
    data = b"".join(pieces)
    framed = b"Transfer-Encoding: chunked" if is_chunked else b"Content-Length: %d" % len(data)
    head = b"\r\n".join([b"HTTP/1.1 %d Some words" % status, *headers, framed, b"", b""])
    text = b"HTTP/1.1 103 Early\r\nA: b\r\n\r\n" * early + head
    text += chunks(pieces) if is_chunked else data
    assert answered(text) == answered_by_h11(text) == (status, data)
    assert answered(text[:-1]) is None or is_chunked


SPICE = [
    b"\r\n",
    b"\n",
    b"\r",
    b" ",
    b":",
    b"0",
    b"1",
    b"-",
    b"+",
    b"_",
    b";",
    b",",
    b"\0",
    b"\xff",
    b"HTTP/1.0",
    b"chunked",
    b"close",
    b"Content-Length: 1\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"204",
    b"101",
]


@given(st.data())
@settings(max_examples=examples(150), deadline=None)
def test_no_answer_is_read_in_another_way(data: st.DataObject) -> None:
    """Good ones with something put in or taken out: refused, or read as the strict parser does."""
    good = [OK, *KEPT.values(), *ENDING.values()]
    text = data.draw(st.sampled_from(good))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        text = (
            text[:at]
            + data.draw(st.sampled_from(SPICE))
            + text[at + data.draw(st.integers(0, 3)) :]
        )
    ours = answered(text)
    theirs = answered_by_h11(text)
    assert ours is None or theirs is None or ours == theirs


def test_a_head_has_its_limit() -> None:
    """So much may come before an answer, and no more."""
    filling = b"X: " + b"x" * 60_000 + b"\r\n"
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n%b\r\n"
    assert answered(head % filling) == (200, b"")
    assert 3 * len(filling) > MAX_HEAD_BYTES and answered(head % (filling * 3)) is None
