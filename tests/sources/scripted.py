"""A server on loopback that sends what a test has written down, byte by byte."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

#: A certificate for ``localhost`` that its own key has signed, valid for a hundred years.
CERTIFICATE = Path(__file__).with_name("localhost.pem")

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Scripted:
    """Answers each connection with its conversation: one text for each request, and then the end.
    ``heads`` are the requests of each connection; ``ended`` is set where a client hung up."""

    def __init__(
        self,
        conversations: Sequence[Sequence[bytes]],
        *,
        secure: bool = False,
        certificate: Path = CERTIFICATE,
        host: str = "127.0.0.1",
    ) -> None:
        self.heads: list[list[bytes]] = []
        self.ended = threading.Event()
        self._left = list(conversations)
        self._tls: ssl.SSLContext | None = None
        if secure:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate)
            self._tls.set_alpn_protocols(["http/1.1"])
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, 0), family=family)
        self.port: int = self._socket.getsockname()[1]
        shown = f"[{host}]" if ":" in host else "localhost" if secure else host
        self.url = f"{'https' if secure else 'http'}://{shown}:{self.port}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                connection, _ = self._socket.accept()
                heads: list[bytes] = []
                self.heads.append(heads)
                texts = self._left.pop(0) if self._left else ()
                threading.Thread(
                    target=self._talk, args=(connection, texts, heads), daemon=True
                ).start()

    def _talk(self, sock: socket.socket, texts: Sequence[bytes], heads: list[bytes]) -> None:
        with sock, suppress(OSError):
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
            with sock, sock.makefile("rb") as reading:
                for text in texts:
                    head = b""
                    while (line := reading.readline()) not in (b"\r\n", b""):
                        head += line
                    if not head:
                        self.ended.set()
                        return
                    heads.append(head)
                    sock.sendall(text)

    def add(self, conversation: Sequence[bytes]) -> None:
        """That of one connection more."""
        self._left.append(conversation)

    @property
    def connections(self) -> int:
        return len(self.heads)

    @property
    def requests(self) -> int:
        return sum(map(len, self.heads))

    def close(self) -> None:
        with suppress(OSError):  # which wakes up who waits for a connection
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@contextmanager
def scripted(
    *conversations: Sequence[bytes], secure: bool = False, certificate: Path = CERTIFICATE
) -> Iterator[Scripted]:
    """One conversation a connection; connections beyond them are closed at once. ``certificate`` is
    that of a ``secure`` server, with its key."""
    server = Scripted(conversations, secure=secure, certificate=certificate)
    try:
        yield server
    finally:
        server.close()
