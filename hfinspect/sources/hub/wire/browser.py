"""A session in a browser: XMLHttpRequest in a worker, which waits for its answer.

There are no sockets and no threads in WebAssembly. A worker may send a request and wait; redirects
are followed by the browser, which leaves the token out where they lead to another host. Of headers
only ``range`` and ``authorization`` are set: any other would cost a request more (CORS preflight).
The browser has the whole body before anything is read of it. So whole files are requested by their
range, as ``HubClient.has_bodies_whole`` says, and of what comes Python takes piece by piece.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from .connection import NoConnectionError

_SENT: Final = ("range", "authorization")
#: Bytes that are taken from the browser at a time: the reader's limit ends it after the last one.
_PIECE: Final = 1 << 20
#: Of an answer that the browser has inflated already.
_AS_SENT: Final = ("content-encoding", "content-length", "transfer-encoding")


class BrowserReply:
    """One answer, its body read."""

    def __init__(self, request: Any, url: str) -> None:
        self.status_code = int(request.status)
        self.url = str(request.responseURL or url)
        self.extensions: dict[str, Any] = {}
        self.headers = _headers(str(request.getAllResponseHeaders() or ""))
        self._body = request.response

    def iter_raw(self) -> Iterator[bytes]:
        if self._body is not None:
            for start in range(0, int(self._body.byteLength), _PIECE):
                yield self._body.slice(start, start + _PIECE).to_bytes()


class BrowserSession:
    """Requests of this page's worker, one after the other."""

    def __init__(self) -> None:
        self._js: Any = import_module("js")

    @contextmanager
    def sent(self, url: str, headers: Mapping[str, str], times: Any) -> Iterator[BrowserReply]:
        """As in ``HttpSession``, but that redirects are followed."""
        request = self._js.XMLHttpRequest.new()
        request.open("GET", url, False)
        request.responseType = "arraybuffer"
        request.timeout = int(max(min(times.head, times.left()), 0.001) * 1000)
        for name in _SENT:
            if name in headers:
                request.setRequestHeader(name, headers[name])
        try:
            request.send()
        except Exception as error:  # a JsException: the browser says no more than that it failed
            raise NoConnectionError(_why(error)) from None
        if not request.status:
            raise NoConnectionError("the browser got no answer")
        yield BrowserReply(request, url)

    def close(self) -> None:
        """As in ``HttpSession``; there is nothing to close."""


def _headers(text: str) -> dict[str, str]:
    lines = (line.partition(":") for line in text.splitlines())
    headers = {name.strip().lower(): value.strip() for name, sign, value in lines if sign}
    return {name: value for name, value in headers.items() if name not in _AS_SENT}


def _why(error: Exception) -> str:
    name = str(getattr(error, "name", "") or type(error).__name__)
    if name == "TimeoutError":
        return "the browser waited too long for an answer"
    return "the browser got no answer, or may not show it (CORS)"
