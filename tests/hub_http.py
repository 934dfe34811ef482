"""The wire of the loopback Hub: keep-alive, ranges, gzip, and broken answers on purpose."""

from __future__ import annotations

import gzip
import json
import re
import socket
import socketserver
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from .hub_api import Query, Reply

if TYPE_CHECKING:
    from .hub_server import Fault, HubServer

#: Small, so that bytes counted as sent are bytes the client is about to read.
CHUNK = 1 << 14

PORTAL = b"<!doctype html><title>Welcome to the hotel network</title>" + b"<p>Log in</p>" * 50

_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_RANGES = re.compile(r"bytes=\d+-\d+(?:,\d+-\d+)+")
BOUNDARY = "CloudFront:0123456789ABCDEF"


@dataclass
class Request:
    """One request as it came in, and what was sent back."""

    host: str
    method: str
    path: str
    query: Query
    query_string: str
    headers: dict[str, str]
    form: Query = field(default_factory=dict)
    status: int = 0
    sent: int = 0


class Listener:
    """One port, a thread per connection."""

    def __init__(self, host: str, hub: HubServer) -> None:
        self._server = _Server(host, hub)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        if not self._thread.is_alive():
            return
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, host: str, hub: HubServer) -> None:
        self.host = host
        self.hub = hub
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
            self.hub.meter.connections[self.host] += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End connections that clients keep alive, so that their threads end too."""
        with self._lock:
            for connection in self._open:
                with suppress(OSError):  # gone already
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error here; anything else is printed by the base class."""
        import sys

        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _HangUpError(ConnectionError):
    pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = CHUNK
    server: _Server
    raw_requestline: bytes

    def setup(self) -> None:
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, CHUNK)
        super().setup()

    def log_message(self, *_args: object) -> None:
        pass

    def parse_request(self) -> bool:
        """The request line and the headers, by lower-case name: the library's own way parses them
        as a mail, which takes longer than the rest of a small answer."""
        self.requestline: str = self.raw_requestline.decode("latin-1").rstrip("\r\n")
        self.command, self.path, self.request_version = self.requestline.split(" ")
        headers: dict[str, str] = {}
        while (line := self.rfile.readline(1 << 16)) not in (b"\r\n", b"\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        self.headers = headers  # type: ignore[assignment]
        ends = headers.get("connection", "").lower() == "close"
        self.close_connection = ends or self.request_version == "HTTP/1.0"
        return True

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def do_OPTIONS(self) -> None:
        """What a browser requests before a request with a token; refused where CORS is."""
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        url = urlsplit(self.path)
        request = Request(
            host=self.server.host,
            method=self.command,
            path=url.path,
            query=parse_qs(url.query),
            query_string="?" + url.query if url.query else "",
            headers=dict(self.headers),
            form=self._form(),
        )
        hub = self.server.hub
        hub.meter.requests.append(request)
        fault = hub.take_fault(request.host, url.path)
        if fault is not None and fault.kind == "status":
            reply = Reply(fault.status, fault.body, dict(fault.headers))
        elif fault is not None and fault.kind == "body":
            reply = Reply(200, fault.body, dict(fault.headers))
        elif fault is not None and fault.kind == "page":
            reply = Reply(200, PORTAL, {"Content-Type": "text/html; charset=utf-8"})
        elif request.method == "OPTIONS":
            reply = Reply(200 if hub.more_headers else 405, b"")
        else:
            reply = self._joined(request, hub.answer(request))
        self._send(request, reply, fault)

    def _joined(self, request: Request, reply: Reply) -> Reply:
        """Several ranges as one body, as CloudFront sends them; S3 by itself ignores them."""
        asked = request.headers.get("range", "")
        hub = self.server.hub
        if reply.file is None or not _RANGES.fullmatch(asked) or not hub.joins_ranges:
            return reply
        if hub.refuses_several:
            return Reply(hub.refuses_several, b"<Error><Code>InvalidRange</Code></Error>")
        size = reply.file.size
        body = b""
        for part in asked.removeprefix("bytes=").split(","):
            start = int(part.split("-")[0])
            stop = min(int(part.split("-")[1]) + 1, size)
            body += (
                f"--{BOUNDARY}\r\nContent-Type: application/octet-stream\r\n"
                f"Content-Range: bytes {start}-{stop - 1}/{size}\r\n\r\n"
            ).encode()
            body += reply.file.read(start, stop) + b"\r\n"
        body += f"--{BOUNDARY}--\r\n".encode()
        kind = f'multipart/byteranges; boundary="{BOUNDARY}"'
        return Reply(206, body, {**reply.headers, "Content-Type": kind})

    def _form(self) -> Query:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.headers.get("content-type", "").startswith("application/json"):
            return {name: list(value) for name, value in json.loads(body or b"{}").items()}
        return parse_qs(body.decode())

    def _send(self, request: Request, reply: Reply, fault: Fault | None) -> None:
        status, start, stop = self._range(request, reply)
        hub = self.server.hub
        headers = {**hub.more_headers, **reply.headers}
        size = reply.file.size if reply.file is not None else len(reply.body)
        packed: bytes | None = None
        if reply.file is not None:
            headers["Accept-Ranges"] = "bytes"
            if status == 206 and not (hub.hides_content_range and request.host == "cdn"):
                shift = 1 if fault is not None and fault.kind == "range" else 0
                headers["Content-Range"] = f"bytes {start + shift}-{stop - 1 + shift}/{size}"
            elif status == 416:
                headers["Content-Range"] = f"bytes */{size}"
            elif self._may_gzip(request, reply):
                packed = gzip.compress(reply.file.read(0, size))
        request.status = status
        if fault is not None and fault.kind == "drip":
            self._trickle(request, b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * CHUNK, fault.seconds)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        length = stop - start
        if packed is not None:
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Transfer-Encoding", "chunked")
        else:
            if fault is not None and fault.kind == "cut":
                length //= 2
                stop = start + length
            extra = 10 if fault is not None and fault.kind == "short" else 0
            self.send_header("Content-Length", str(length + extra))
        self.end_headers()
        if self.command != "HEAD":
            if packed is not None:
                self._write(request, b"%x\r\n%b\r\n0\r\n\r\n" % (len(packed), packed))
            else:
                self._write_body(request, reply, start, stop, fault)
        self.wfile.flush()
        if fault is not None and fault.kind == "short":
            self.close_connection = True

    def _may_gzip(self, request: Request, reply: Reply) -> bool:
        asked = "gzip" in request.headers.get("accept-encoding", "")
        return self.server.hub.gzips and asked and reply.file is not None and not reply.file.lfs

    def _range(self, request: Request, reply: Reply) -> tuple[int, int, int]:
        """(status, start, stop) of what is sent."""
        if reply.file is None:
            return reply.status, 0, len(reply.body)
        size = reply.file.size
        match = _RANGE.fullmatch(request.headers.get("range", ""))
        if match is None or self.server.hub.ignores_range:
            return reply.status, 0, size
        start = int(match[1])
        if start >= size:
            return 416, 0, 0
        return 206, start, min(size, int(match[2]) + 1 if match[2] else size)

    def _write_body(
        self, request: Request, reply: Reply, start: int, stop: int, fault: Fault | None
    ) -> None:
        for begin in range(start, stop, CHUNK):
            end = min(begin + CHUNK, stop)
            data = reply.file.read(begin, end) if reply.file else reply.body[begin:end]
            if fault is not None and fault.kind == "trickle":
                self._trickle(request, data, fault.seconds)
                continue
            at = -1 if fault is None else fault.after - (begin - start)
            if fault is not None and fault.kind in ("reset", "stall") and 0 <= at < len(data):
                self._write(request, data[:at])
                self.wfile.flush()
                if fault.kind == "reset":
                    self._reset()
                self.server.hub.stopping.wait(fault.seconds)
                data = data[at:]
            self._write(request, data)

    def _trickle(self, request: Request, data: bytes, seconds: float) -> None:
        for byte in data:
            self._write(request, bytes([byte]))
            self.wfile.flush()
            if self.server.hub.stopping.wait(seconds):
                return

    def _write(self, request: Request, data: bytes) -> None:
        self.wfile.write(data)
        request.sent += len(data)

    def _reset(self) -> None:
        """Close with a TCP reset: unsent data is dropped, the client sees ECONNRESET."""
        linger = struct.pack("ii", 1, 0)
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.request.close()
        raise _HangUpError
