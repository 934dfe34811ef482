"""Sessions: our own, and huggingface_hub's where the user or the network needs that."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from ....errors import UsageError
from ...deadline import Deadline
from .address import target_of
from .bounded import bound_client, limited
from .http_library import http_library
from .transport import Transport

if TYPE_CHECKING:
    from .connection import Reply
    from .lazy_tls import LateContext

#: Requests at once, to the Hub and to its storage each, whatever the number of CPUs: the time goes
#: into waiting for answers, and a header is small.
IN_FLIGHT = 32


class Times(NamedTuple):
    """How long a request may take, in seconds: each ``wait`` on the network, and all until the
    ``head`` of the answer is there. The body has until the ``deadline``."""

    wait: float
    head: float
    deadline: Deadline

    def left(self) -> float:
        return self.deadline.left()


class HttpSession(Protocol):
    """Sends requests, and keeps connections for the next ones."""

    def sent(
        self, url: str, headers: Mapping[str, str], times: Times
    ) -> AbstractContextManager[Any]:
        """The answer to a GET request, its body not yet read; redirects are not followed."""
        ...

    def close(self) -> None: ...


class OwnSession:
    """Our own: few steps a request, and no HTTP library."""

    def __init__(self, connections: int) -> None:
        self._transport = Transport(connections, _tls)

    @contextmanager
    def sent(self, url: str, headers: Mapping[str, str], times: Times) -> Iterator[Reply]:
        """As in ``HttpSession``."""
        _check_online()
        origin, target = target_of(url)
        if target.login is not None:
            headers = {name: headers[name] for name in headers if name != "authorization"}
        headers = {**headers, _REQUEST_ID: _request_id()}
        with limited(times.head):
            reply = self._transport.sent(origin, target, headers, times.wait)
        try:
            with limited(times.left()):
                yield reply
        finally:
            reply.close()

    def close(self) -> None:
        """As in ``HttpSession``."""
        self._transport.close()


class LibrarySession:
    """A client of the HTTP library that huggingface_hub uses."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @contextmanager
    def sent(self, url: str, headers: Mapping[str, str], times: Times) -> Iterator[Any]:
        """As in ``HttpSession``."""
        request = self._client.build_request("GET", url, headers=headers, timeout=times.wait)
        with limited(times.head):
            response = self._client.send(request, stream=True, follow_redirects=False)
        try:
            with limited(times.left()):
                yield response
        finally:
            response.close()

    def close(self) -> None:
        """As in ``HttpSession``."""
        self._client.close()


#: huggingface_hub names each request, for whoever reads the Hub's own logs.
_REQUEST_ID: Final = "X-Amzn-Trace-Id"


def _request_id() -> str:
    """A random one, as huggingface_hub has it: a UUID."""
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


def _check_online() -> None:
    """Raises huggingface_hub's OfflineModeIsEnabled where it would send nothing either."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        from huggingface_hub.errors import OfflineModeIsEnabled

        raise OfflineModeIsEnabled


def users_session() -> HttpSession:
    """huggingface_hub's session."""
    from huggingface_hub import get_session

    return LibrarySession(get_session())


def own_session(connections: int, *, secure: bool = False) -> HttpSession | None:
    """A session like huggingface_hub's own, with a pool that fits; None if the user set another.
    ``secure``: its first address is one of https, so authorities are read while it connects."""
    if sys.platform == "emscripten":
        from .browser import BrowserSession

        return BrowserSession()
    if _user_set_another():
        return None
    proxied = proxies_are_set()
    if secure:
        _tls().begin()
    if not proxied and not _is_logged():
        return OwnSession(connections)
    from huggingface_hub.utils._http import hf_request_event_hook

    httpx = http_library()
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    hooks = {"request": [hf_request_event_hook], "response": [_hide_redirect]}
    try:
        client = httpx.Client(event_hooks=hooks, timeout=None, limits=limits, verify=_tls())
    except (ValueError, ImportError) as error:  # HTTP_PROXY=socks5://..., and no socksio
        raise UsageError(
            "the proxy settings",
            f"are refused by {httpx.__name__} ({str(error).splitlines()[0].rstrip('.')})",
            hint="check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY",
        ) from None
    bound_client(client)
    return LibrarySession(client)


def _user_set_another() -> bool:
    """Whether huggingface_hub has another session than its usual one: only where the module is
    there by which another one is set."""
    module = sys.modules.get("huggingface_hub.utils._http")
    if module is None:
        return False
    default = getattr(module, "default_client_factory", None)
    return default is None or getattr(module, "_GLOBAL_CLIENT_FACTORY", 0) is not default


def _is_logged() -> bool:
    """Whether huggingface_hub shall log its requests (HF_DEBUG, HF_HUB_VERBOSITY=debug)."""
    from huggingface_hub import constants

    if getattr(constants, "HF_DEBUG", False) or os.environ.get("HF_HUB_VERBOSITY") == "debug":
        return True
    logging = sys.modules.get("logging")
    return logging is not None and logging.getLogger("huggingface_hub").isEnabledFor(logging.DEBUG)


def proxies_are_set() -> bool:
    """Whether the environment, or the system, names proxies."""
    variables = (name.lower() for name, value in os.environ.items() if value)
    if sys.platform not in ("darwin", "win32") and not any(
        name.endswith("_proxy") and name != "no_proxy" for name in variables
    ):
        return False
    from urllib.request import getproxies

    return not getproxies().keys() <= {"no"}


def _hide_redirect(response: Any) -> None:
    """Where a redirect leads is ours to judge; the HTTP library would prepare to go there."""
    where = response.headers.get("location")
    if where is not None:
        response.extensions["location"] = where
        del response.headers["location"]


@functools.cache
def _tls() -> LateContext:
    """One TLS context for all sessions, made when one of them needs it: it trusts whom the HTTP
    library trusts."""
    from .lazy_tls import LateContext

    context = LateContext(lambda: http_library().create_ssl_context())
    context.set_alpn_protocols(["http/1.1"])
    return context
