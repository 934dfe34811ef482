"""What huggingface_hub and its HTTP library raise, in our words: one table, used at the border.

Anything that is not in the table propagates: it is a bug, and hiding it helps nobody.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ...core.records import dataclass
from ...errors import (
    AccessError,
    EntryNotFoundError,
    GatedRepoError,
    HfinspectError,
    NetworkError,
    OfflineError,
    RateLimitedError,
    RepoNotFoundError,
    RequestTimeoutError,
    RevisionNotFoundError,
    UnauthorizedError,
    UsageError,
)

_LOG_IN = "log in with `hf auth login` or set HF_TOKEN"


@dataclass(frozen=True)
class RequestContext:
    """What a request was for, as far as errors about it need to know."""

    endpoint: str
    repo_id: str = ""
    revision: str | None = None
    path: str | None = None
    has_token: bool = False
    #: Who was asked last, where that is not the endpoint: scheme, host and port.
    elsewhere: str | None = None

    @property
    def server(self) -> str:
        """Whoever answered, or did not."""
        return self.elsewhere or self.endpoint

    @property
    def subject(self) -> str:
        name = self.repo_id or self.endpoint
        return f"{name}@{self.revision}" if self.revision else name


class Meaning(NamedTuple):
    """Our error for a foreign one. Texts may use {repo}, {revision}, {path}, {endpoint} (the Hub)
    and {server} (who answered, or did not)."""

    error: type[HfinspectError]
    problem: str
    hint: str | None = None
    hint_with_token: str | None = None
    #: Where the server is not the endpoint.
    hint_elsewhere: str | None = None


_CHECK_HUB = "check that HF_ENDPOINT is a Hub, and the proxy settings"
_CHECK_PROXY = "check the proxy settings"

_NO_ANSWER = Meaning(
    NetworkError,
    "no connection to {server}",
    "check the network, the proxy settings and HF_ENDPOINT; "
    "HF_HUB_OFFLINE=1 reads what is already in the cache",
    hint_elsewhere="{endpoint} answers and leads there: check that the network, a firewall or a "
    "proxy lets you reach that host too",
)
_TIMED_OUT = Meaning(
    RequestTimeoutError,
    "{server} did not answer in time",
    "try again, or raise HF_HUB_DOWNLOAD_TIMEOUT (seconds)",
)
_BROKEN = Meaning(
    NetworkError, "the connection to {server} broke, again and again", "try again later"
)
_REPO_NOT_FOUND = Meaning(
    RepoNotFoundError,
    "no such model on {server}, or it is private",
    f"check the spelling; if it is private, {_LOG_IN}",
    "check the spelling, and that your token may read it",
)
_UNAUTHORIZED = Meaning(
    UnauthorizedError,
    "{server} needs a login (401)",
    _LOG_IN,
    "the token may be wrong or expired: `hf auth login` sets a new one",
)
_NOT_THERE = Meaning(
    EntryNotFoundError,
    "has no file {path}",
    "its files are listed at {endpoint}/{repo}/tree/{revision}",
)

#: By name of the foreign class; of an error's classes the most derived one decides.
_BY_CLASS: Mapping[str, Meaning] = {
    "GatedRepoError": Meaning(
        GatedRepoError,
        "its files are behind an access request",
        f"accept the terms at {{endpoint}}/{{repo}} and {_LOG_IN}",
        "accept the terms at {endpoint}/{repo} with the account of your token",
    ),
    "RepositoryNotFoundError": _REPO_NOT_FOUND,
    "RevisionNotFoundError": Meaning(
        RevisionNotFoundError,
        "has no revision {revision}",
        "branches and tags are listed at {endpoint}/{repo}/tree/main",
    ),
    "EntryNotFoundError": _NOT_THERE,
    "RemoteEntryNotFoundError": _NOT_THERE,
    "DisabledRepoError": Meaning(
        AccessError,
        "access to this model has been disabled",
        "its page says why: {endpoint}/{repo}",
    ),
    "BadRequestError": Meaning(
        NetworkError,
        "{server} did not understand the request (400)",
        _CHECK_HUB,
        hint_elsewhere=_CHECK_PROXY,
    ),
    "HFValidationError": Meaning(UsageError, "is not a repo id", "a repo id looks like org/name"),
    "OfflineModeIsEnabled": Meaning(
        OfflineError,
        "not in the cache, and the network is switched off",
        "unset HF_HUB_OFFLINE to fetch it",
    ),
    "LocalTokenNotFoundError": Meaning(
        UnauthorizedError, "a token is required, none is saved", _LOG_IN
    ),
    # our own connections
    "NoConnectionError": _NO_ANSWER,
    "TooSlowError": _TIMED_OUT,
    "BrokenConnectionError": _BROKEN,
    "UnsendableError": _BROKEN,
    # httpx and its successor
    "TimeoutException": _TIMED_OUT,
    "StalledError": _TIMED_OUT,
    "ProxyError": Meaning(
        NetworkError,
        "the proxy refuses the connection to {server}",
        "check HTTP_PROXY and HTTPS_PROXY",
    ),
    "ConnectError": _NO_ANSWER,
    "NetworkError": _BROKEN,
    "ProtocolError": _BROKEN,
    "UnsupportedProtocol": Meaning(
        NetworkError, "{server} is not a valid address", "HF_ENDPOINT must be http(s)://..."
    ),
    "InvalidURL": Meaning(NetworkError, "{server} led to an invalid address"),
}

_LATER = "the server has troubles; try again later"
_BY_STATUS: Mapping[int, Meaning] = {
    401: _UNAUTHORIZED,
    403: Meaning(
        UnauthorizedError,
        "{server} refuses access (403)",
        _LOG_IN,
        "check that your token may read it",
    ),
    404: _REPO_NOT_FOUND,
    407: Meaning(
        NetworkError, "a proxy wants a password (407)", "check HTTP_PROXY and HTTPS_PROXY"
    ),
    408: _TIMED_OUT,
    429: Meaning(
        RateLimitedError,
        "{server} reports too many requests",
        "wait a few minutes; with a token the limits are higher",
        "wait a few minutes",
    ),
}

#: Where foreign classes may come from; a class of the same name from elsewhere is not meant.
_PACKAGES = ("huggingface_hub", "httpx", "httpx2", "hfinspect")


def own_error(error: Exception, context: RequestContext) -> HfinspectError | None:
    """Our error for a foreign one; None if the table does not know it."""
    meaning = _meaning(error, context)
    return None if meaning is None else build(meaning, context)


def _meaning(error: Exception, context: RequestContext) -> Meaning | None:
    for cls in type(error).__mro__:
        if cls.__module__.partition(".")[0] not in _PACKAGES:
            continue
        if cls.__name__ == "HfHubHTTPError":
            return by_status(status_of(error), context)
        meaning = _BY_CLASS.get(cls.__name__)
        if meaning is not None:
            return meaning
    return None


def by_status(status: int, context: RequestContext) -> Meaning:
    """What an HTTP status means when the server gives no X-Error-Code with it."""
    if status == 404 and context.path is not None:
        return _NOT_THERE
    if status == 401 and context.repo_id and not context.has_token:
        return _REPO_NOT_FOUND  # the Hub's answer to anybody who requests what is not there
    known = _BY_STATUS.get(status)
    if known is not None:
        return known
    problem = f"{{server}} answered with status {status}"
    if status >= 500:
        return Meaning(NetworkError, problem, _LATER)
    return Meaning(NetworkError, problem, _CHECK_HUB, hint_elsewhere=_CHECK_PROXY)


def status_of(error: Exception) -> int:
    """HTTP status behind an error of huggingface_hub; 0 if there is none."""
    status = getattr(getattr(error, "response", None), "status_code", 0)
    return status if isinstance(status, int) else 0


def build(meaning: Meaning, context: RequestContext) -> HfinspectError:
    """The error itself, texts filled in."""
    texts = {
        "repo": context.repo_id,
        "revision": context.revision or "main",
        "path": context.path or "",
        "endpoint": context.endpoint,
        "server": context.server,
    }
    hint = (
        meaning.hint_with_token if context.has_token and meaning.hint_with_token else meaning.hint
    )
    if context.elsewhere is not None and meaning.hint_elsewhere:
        hint = meaning.hint_elsewhere
    return meaning.error(
        context.repo_id or context.endpoint
        if meaning.error is RevisionNotFoundError
        else context.subject,
        meaning.problem.format_map(texts),
        where=context.path if meaning.error is not EntryNotFoundError else None,
        hint=hint.format_map(texts) if hint else None,
    )


def network_error(context: RequestContext, problem: str) -> NetworkError:
    """An answer that is no use, in the server's name."""
    hint = "a proxy or a network's log-in page may be in the way; try again later"
    return network_error_of(context, f"{context.server} {problem}", hint)


def network_error_of(context: RequestContext, problem: str, hint: str) -> NetworkError:
    """An error about a request, in words of its own."""
    return NetworkError(context.subject, problem, where=context.path, hint=hint)
