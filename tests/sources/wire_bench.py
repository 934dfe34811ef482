"""Two clients at one server: what hfinspect and huggingface_hub make of the same bytes.

A row of the matrix sets a ``Bench`` up with servers on loopback that say what it has written down,
and each client asks there once, for the list of a model or for the header of a file. ``outcome``
says in a few words what came of it.
"""

from __future__ import annotations

import json
import queue
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from hfinspect.errors import HfinspectError
from hfinspect.sources.hub.client import HubClient
from hfinspect.sources.hub.model_info import Listing
from hfinspect.sources.hub.repo import HubSource
from hfinspect.sources.hub.throttle import RetryPolicy, Throttle
from hfinspect.sources.hub.wire.http import _tls
from hfinspect.sources.source import FileEntry

from ..hub_repos import weights
from .certificates import Authority
from .scripted import CERTIFICATE, Scripted

CLIENTS = ("hfinspect", "huggingface_hub")
FILE = "model.safetensors"
STORED = weights({"a.weight": ("F32", (2, 3))})
HEADER = STORED.read(0, STORED.size)
LISTING = {"id": "org/model", "sha": "a" * 40, "siblings": [{"rfilename": FILE, "size": 9}]}
LIST = json.dumps(LISTING).encode()

#: Seconds that either client waits on the network, and after which nobody waits for the client.
WAIT = 0.3
AT_MOST = 3.0

READ = "reads it"
ERROR = "an error"
WRONG = "a wrong result"
WAITS = "waits without end"


def answer(
    body: bytes = LIST, status: str = "200 OK", *headers: str, version: str = "1.1"
) -> bytes:
    """An answer with a length; headers as ``Name: value``."""
    lines = [f"HTTP/{version} {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def with_head(head: str, body: bytes = LIST) -> bytes:
    """An answer whose head is all written down."""
    return head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body


def part(data: bytes = HEADER, *headers: str) -> bytes:
    """The range that is requested of the file: all of it."""
    said = f"Content-Range: bytes 0-{len(data) - 1}/{len(data)}"
    return answer(data, "206 Partial Content", *(headers or (said,)))


@dataclass
class Bench:
    """Where a client asks, and for what. ``note`` is called after it has asked and adds to what is
    said of it."""

    client: str
    stack: ExitStack
    patch: pytest.MonkeyPatch
    own: Authority
    folder: Path
    endpoint: str = ""
    asks_for: str = "list"
    token: str | bool = False
    note: Callable[[], str] = str

    def serve(
        self, *conversations: Sequence[bytes], certificate: Path | None = None, host: str = ""
    ) -> Scripted:
        """A server; the first one is the endpoint."""
        server = Scripted(
            conversations,
            secure=certificate is not None,
            certificate=certificate or CERTIFICATE,
            host=host or "127.0.0.1",
        )
        self.stack.callback(server.close)
        self.endpoint = self.endpoint or server.url
        return server

    def trust(self, authority: Path | None = None) -> None:
        """Name an authority in SSL_CERT_FILE."""
        self.patch.setenv("SSL_CERT_FILE", str(authority or self.own.trusted))

    def outcome(self) -> str:
        """Ask; what came of it."""
        outcomes: queue.SimpleQueue[str] = queue.SimpleQueue()

        def ask() -> None:
            outcomes.put(self._asked())

        threading.Thread(target=ask, daemon=True).start()
        try:
            said = outcomes.get(timeout=AT_MOST)
        except queue.Empty:
            return WAITS
        note = self.note()
        return f"{said}, {note}" if note else said

    def _asked(self) -> str:
        try:
            made = self._ours() if self.client == "hfinspect" else self._theirs()
        except HfinspectError:
            return ERROR
        except Exception as error:
            if self.client == "hfinspect":
                return f"a bug: {error!r}"
            return ERROR
        return READ if made else WRONG

    def _ours(self) -> bool:
        policy = RetryPolicy(timeout_attempts=1)
        throttle = Throttle(policy, sleep=lambda seconds: None)
        asking = HubClient(
            endpoint=self.endpoint, token=self.token, timeout=WAIT, throttle=throttle
        )
        self.stack.callback(asking.close)
        if self.asks_for == "list":
            return list(HubSource("org/model", client=asking).list_files()) == [FILE]
        entry = FileEntry(FILE, len(HEADER))
        listing = Listing("org/model", None, {FILE: entry})
        read = HubSource("org/model", client=asking, listing=listing)
        return read.read(FILE, 0, len(HEADER)) == HEADER

    def _theirs(self) -> bool:
        from huggingface_hub import HfApi

        api = HfApi(endpoint=self.endpoint, token=self.token)
        if self.asks_for == "list":
            siblings = api.model_info("org/model", files_metadata=True, timeout=WAIT).siblings
            return [sibling.rfilename for sibling in siblings or ()] == [FILE]
        header = api.parse_safetensors_file_metadata("org/model", FILE, timeout=WAIT)
        return {name: info.shape for name, info in header.tensors.items()} == {"a.weight": [2, 3]}


@contextmanager
def bench(client: str, own: Authority, folder: Path) -> Iterator[Bench]:
    """Neither knows a session, an authority or a proxy of before."""
    import huggingface_hub

    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        for name in ("NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"):
            patch.delenv(name, raising=False)
        _tls.cache_clear()
        huggingface_hub.close_session()
        stack.callback(_tls.cache_clear)
        stack.callback(huggingface_hub.close_session)
        yield Bench(client, stack, patch, own, folder)


class Tunnel:
    """A proxy that connects where CONNECT says. ``asked`` are the first lines of what it was
    asked."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += client.recv(1)
            line = head.split(b"\r\n", 1)[0]
            self.asked.append(line)
            host, _, port = line.split()[1].decode().rpartition(":")
            with socket.create_connection((host.strip("[]"), int(port))) as server:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                back.start()
                _pump(client, server)
                back.join()

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
