"""A TLS context that is made when the first connection needs it.

Reading the authorities takes 40 ms: a sixth of the time of a small model, and in vain where a
mirror on this machine speaks plain HTTP.
"""

import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ....errors import UnreadableError


class LateContext(ssl.SSLContext):
    """Stands for the context that ``make`` returns. An HTTP client asks no more of it than this.

    Making it raises UnreadableError where the authorities cannot be read."""

    make: Callable[[], ssl.SSLContext]
    _made: ssl.SSLContext | None
    _protocols: list[str]
    _lock: threading.Lock

    def __new__(cls, make: Callable[[], ssl.SSLContext]) -> "LateContext":
        new = super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)
        new.make = make
        new._made = None
        new._protocols = []
        new._lock = threading.Lock()
        return new

    def begin(self) -> None:
        """Make it in another thread now. What goes wrong does so again when it is needed."""

        def make() -> None:
            with suppress(UnreadableError):
                self._loaded()

        if self._made is None:
            with suppress(RuntimeError):  # no thread can start: it is made when it is needed
                threading.Thread(target=make, name="hfinspect-tls", daemon=True).start()

    def set_alpn_protocols(self, alpn_protocols: Any) -> None:
        self._protocols = list(alpn_protocols)

    def wrap_socket(self, *arguments: Any, **options: Any) -> ssl.SSLSocket:
        return self._loaded().wrap_socket(*arguments, **options)

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        return self._loaded().wrap_bio(*arguments, **options)

    def _loaded(self) -> ssl.SSLContext:
        with self._lock:
            if self._made is None:
                try:
                    self._made = self.make()
                except OSError as error:
                    raise UnreadableError(
                        "the certificates of trusted authorities",
                        f"cannot be read: {error.strerror or error}",
                        hint="check SSL_CERT_FILE and SSL_CERT_DIR",
                    ) from None
                if self._protocols:
                    self._made.set_alpn_protocols(self._protocols)
            return self._made
