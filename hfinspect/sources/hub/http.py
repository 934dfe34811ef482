"""huggingface_hub's HTTP session and headers, as they are needed for many small reads."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from ..._version import __version__
from ...errors import UnauthorizedError, UnreadableError, UsageError
from ..deadline import Deadline
from .bounded import bound_client, limited
from .environment import may_have_token
from .translate import Asked, translate
from .transport import Client, Transport, proxies_are_set

if TYPE_CHECKING:
    from .late_tls import LateContext

#: Requests at once, to the Hub and to its storage each, whatever the number of CPUs: the time goes
#: into waiting for answers, and a header is small.
IN_FLIGHT = 32

_DEFAULT_PORTS = {"http": 80, "https": 443}


def hub_headers(token: str | bool | None, asked: Asked) -> dict[str, str]:
    """User agent and, if there is a token, Authorization. Raises UnauthorizedError.

    Like huggingface_hub's build_hf_headers, but without looking up which program runs us: that
    would be one more request to the Hub, a day.
    """
    from huggingface_hub import __version__ as hub_version

    headers = {"user-agent": f"hfinspect/{__version__}; hf_hub/{hub_version}"}
    try:
        secret = _token_to_send(token)
    except OSError as error:
        unreadable = UnreadableError(
            asked.subject, "the saved token cannot be read", hint=str(error)
        )
        raise translate(error, asked) or unreadable from error
    if secret and not (secret.isascii() and secret.isprintable() and " " not in secret):
        # Said here because the HTTP library's error would quote it.
        raise UnauthorizedError(
            asked.subject,
            "the token has characters that no token has",
            hint="set it again with `hf auth login` or HF_TOKEN",
        )
    if secret:
        headers["authorization"] = f"Bearer {secret}"
    return headers


def _token_to_send(token: str | bool | None) -> str | None:
    """As huggingface_hub says; what finds a saved one is imported where there may be one."""
    if token is False or (token is None and not may_have_token()):
        return None
    from huggingface_hub.utils._headers import get_token_to_send

    found: str | None = get_token_to_send(token)
    return found


class Times(NamedTuple):
    """How long a request may take, in seconds: each ``wait`` on the network, and all until the
    ``head`` of the answer is there. The body has until the ``deadline``."""

    wait: float
    head: float
    deadline: Deadline

    def left(self) -> float:
        return self.deadline.left()


class Session:
    """An HTTP session of huggingface_hub's kind. ``own`` says that nobody else uses it."""

    def __init__(self, client: Any, own: bool) -> None:
        self._client = client
        self._own = own
        self._library = _http_library()

    @contextmanager
    def sent(self, url: str, headers: Mapping[str, str], times: Times) -> Iterator[Any]:
        """The answer to a GET request, its body not yet read; redirects are not followed."""
        timeout = times.wait
        if self._own:  # which has no headers, cookies or parameters of its own to merge
            timeouts = dict.fromkeys(("connect", "read", "write", "pool"), timeout)
            request = self._library.Request(
                "GET", url, headers=headers, extensions={"timeout": timeouts}
            )
        else:
            request = self._client.build_request("GET", url, headers=headers, timeout=timeout)
        with limited(times.head):
            response = self._client.send(request, stream=True, follow_redirects=False)
        try:
            with limited(times.left()):
                yield response
        finally:
            response.close()

    def close(self) -> None:
        self._client.close()


def users_session() -> Session:
    """huggingface_hub's session."""
    from huggingface_hub import get_session

    return Session(get_session(), own=False)


def own_session(connections: int, *, secure: bool = False) -> Session | None:
    """A session like huggingface_hub's own, with a pool that fits; None if the user set another.
    ``secure``: its first address is one of https, so authorities are read while it connects."""
    from huggingface_hub.utils import _http

    default = getattr(_http, "default_client_factory", None)
    hook = getattr(_http, "hf_request_event_hook", None)
    if (
        default is None
        or hook is None
        or getattr(_http, "_GLOBAL_CLIENT_FACTORY", 0) is not default
    ):
        return None
    httpx = _http_library()
    tls = _tls()
    if secure:
        tls.begin()
    if not proxies_are_set():
        return Session(Client(httpx, Transport(httpx, connections, tls), hook), own=True)
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    hooks = {"request": [hook], "response": [_hide_redirect]}
    try:
        client = httpx.Client(event_hooks=hooks, timeout=None, limits=limits, verify=tls)
    except (ValueError, ImportError) as error:  # HTTP_PROXY=socks5://..., and no socksio
        raise UsageError(
            "the proxy settings",
            f"are refused by {httpx.__name__} ({str(error).splitlines()[0].rstrip('.')})",
            hint="check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY",
        ) from None
    bound_client(client)
    return Session(client, own=True)


def _hide_redirect(response: Any) -> None:
    """Where a redirect leads is ours to judge; the HTTP library would prepare to go there."""
    where = response.headers.get("location")
    if where is not None:
        response.extensions["location"] = where
        del response.headers["location"]


@functools.cache
def _tls() -> LateContext:
    """One TLS context for all sessions, made when one of them needs it."""
    from .late_tls import LateContext

    return LateContext(_http_library().create_ssl_context)


def _http_library() -> Any:
    """httpx, or its successor if that is what this huggingface_hub is built on."""
    from huggingface_hub.errors import HfHubHTTPError

    for cls in HfHubHTTPError.__mro__:
        if cls.__name__ == "HTTPError":
            return sys.modules[cls.__module__.partition(".")[0]]
    raise TypeError("this version of huggingface_hub is not built on httpx")


#: Of an error answer's headers, those by which huggingface_hub distinguishes errors.
_TELLING = ("x-error-code", "x-error-message")


def only_telling(response: Any) -> Any:
    """An error answer without its body and the headers that say nothing of the kind of error:
    huggingface_hub reads more of them than is good with a hostile server."""
    headers = {name: response.headers[name] for name in _TELLING if name in response.headers}
    return type(response)(response.status_code, headers=headers, request=response.request)


def is_same_host(endpoint: str, url: str) -> bool:
    """Whether an address is on the endpoint's own scheme, host and port, or its https twin."""
    theirs, ours = _origin(url), _origin(endpoint)
    return theirs == ours or (
        ours == ("http", theirs[1], 80) and theirs == ("https", theirs[1], 443)
    )


def is_web_address(url: str) -> bool:
    """Whether it is http(s) with a host and a port that there can be."""
    _, host, port = _origin(url)
    return bool(host and port)


@functools.lru_cache(maxsize=256)
def _origin(url: str) -> tuple[str, str, int]:
    """(scheme, host, port); port 0 where the scheme is not http(s) or the address is none."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        port = _DEFAULT_PORTS.get(parts.scheme, 0) and (parts.port or _DEFAULT_PORTS[parts.scheme])
        host.encode("idna")  # as the socket will; raises UnicodeError, a ValueError
    except ValueError:
        return ("", "", 0)
    return (parts.scheme, host, port)
