"""Asking the Hub: one session, one limiter, one place where the token is attached.

Many ``HubSource`` objects may share one ``HubClient``; it is safe to use from several threads.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TypeVar

from ...core.records import dataclass
from ...core.refs import masked
from ...errors import HfinspectError, OfflineError, RateLimitedError
from ..deadline import Deadline, checked_timeout
from ..descriptors import are_used_up
from ..waiting import cancellable
from .connection_errors import is_bad_certificate
from .error_answers import (
    RETRIED_STATUSES,
    ErrorAnswerError,
    RefusedError,
    error_of,
    final_error,
    of_answer,
)
from .hub_errors import RequestContext, network_error
from .request_headers import hub_headers
from .settings import IN_BROWSER, checked_endpoint, hub_constants
from .throttle import RetryPolicy, Throttle, retry_after
from .wire.address import is_same_host, is_web_address, origin_text
from .wire.answer import Answer, BrokenAnswerError, StalledError, UnusableAnswerError, parse_json
from .wire.connection import BrokenConnectionError, NoConnectionError, TooSlowError
from .wire.http import Times
from .wire.pipelining import SessionPool

T = TypeVar("T")

#: Redirects in a row, as many as huggingface_hub follows: a renamed repo, a copy of a small file
#: that needs no login, a Hub that has moved as a whole.
MAX_REDIRECTS = 20

#: Headers of requests whose answer may be compressed: whole bodies, never ranges.
GZIP = {"accept-encoding": "gzip"}

#: Waits in one request: until the head of an answer is there (connection, TLS and redirects of the
#: network included), and how long a body may lag behind the slowest line.
PATIENCE = 3


@dataclass(frozen=True)
class Request:
    """One GET request. ``quota`` is ``api``, ``resolve`` or ``cdn``: they are limited apart.
    ``deadline`` is that of the whole model; None gives this one request the usual time."""

    url: str
    context: RequestContext
    quota: str
    headers: dict[str, str] = field(default_factory=dict)
    accept: frozenset[int] = frozenset()
    attempts: int | None = None
    deadline: Deadline | None = None


class HubClient:
    """The Hub at one endpoint as one user. ``timeout`` in seconds for each wait on the network.
    The head of an answer takes at most ``PATIENCE`` of these, its body as long as it comes in no
    slower than ``SLOWEST_BYTES_PER_SECOND``, and all of it no longer than its deadline.

    Defaults are huggingface_hub's own: HF_ENDPOINT, the saved token, HF_HUB_DOWNLOAD_TIMEOUT,
    HF_HUB_OFFLINE. ``token=False`` sends none. Nothing is asked, opened or imported before the
    first request.
    """

    def __init__(
        self,
        *,
        endpoint: str | None = None,
        token: str | bool | None = None,
        timeout: float | None = None,
        offline: bool | None = None,
        throttle: Throttle | None = None,
    ) -> None:
        self._endpoint = checked_endpoint(endpoint) if endpoint else None
        self._token = token
        self._timeout = None if timeout is None else checked_timeout(timeout)
        self._offline = offline
        self.throttle = throttle or Throttle()
        self._pipelines = {"hub": SessionPool(), "cdn": SessionPool()}
        self._headers: dict[str, str] | None = None
        #: Whether several ranges may be requested at once: until the storage host shows it cannot.
        self.joins_ranges = True
        #: Whether a body is in memory before its first byte is read, as in a browser: then what a
        #: request names is the only limit that there is.
        self.has_bodies_whole = IN_BROWSER

    @property
    def policy(self) -> RetryPolicy:
        return self.throttle.policy

    @property
    def endpoint(self) -> str:
        if self._endpoint is None:
            self._endpoint = checked_endpoint(hub_constants().ENDPOINT)
        return self._endpoint

    @property
    def offline(self) -> bool:
        if self._offline is None:
            self._offline = bool(hub_constants().HF_HUB_OFFLINE)
        return self._offline

    @property
    def timeout(self) -> float:
        if self._timeout is None:
            self._timeout = checked_timeout(float(hub_constants().HF_HUB_DOWNLOAD_TIMEOUT))
        return self._timeout

    def prepare(self) -> None:
        """Import and make now what the first request needs. Raises what that would raise."""
        if not self.offline:
            self._hub_headers("")
            self._pipelines["hub"].prepare(self.endpoint)

    def context_of(
        self, repo_id: str, revision: str | None = None, path: str | None = None
    ) -> RequestContext:
        """What a request is for, with what errors need to know about this client."""
        has_token = not self.offline and "authorization" in self._hub_headers(repo_id)
        return RequestContext(masked(self.endpoint), repo_id, revision, path, has_token)

    def fetch(self, request: Request, handle: Callable[[Answer], T]) -> T:
        """Send a request, and again where that may help; what ``handle`` makes of the answer.

        ``handle`` gets answers of status 2xx, 3xx that lead to another host, and those in
        ``request.accept``; it reads what it needs, the rest is never read. Raises AccessError
        subclasses; RefusedError where the storage host answers 4xx.
        """
        if self.offline:
            raise OfflineError(
                request.context.subject,
                "not in the cache, and the network is switched off",
                where=request.context.path,
                hint="unset HF_HUB_OFFLINE to fetch it",
            )
        deadline = request.deadline or Deadline()
        with cancellable(lambda: deadline.cancelled):
            return self._fetch(request, deadline, handle)

    def _fetch(self, request: Request, deadline: Deadline, handle: Callable[[Answer], T]) -> T:
        failures = 0
        waited = 0.0
        while True:
            deadline.grant(self.throttle.wait(request.quota))
            if deadline.left() <= 0:
                raise deadline.error(request.context.subject, request.context.path)
            urls = [request.url]
            try:
                return self._follow(request, deadline, handle, urls)
            except (HfinspectError, RefusedError):
                raise
            except Exception as error:
                context = self._context_at(urls[-1], request.context)
                if deadline.left() <= 0:
                    late = deadline.error(context.subject, context.path, waiting_for=context.server)
                    raise late from error
                failures += 1
                if failures >= self._attempts(error, request):
                    ours = final_error(error, context, urls[-1])
                    if ours is None:
                        raise
                    raise ours from error
                waited += self._pause(error, request, context, deadline, failures, waited)

    def _follow(
        self, request: Request, deadline: Deadline, handle: Callable[[Answer], T], urls: list[str]
    ) -> T:
        """What is made of the answer at the end of the redirects; ``urls`` gets their addresses."""
        while len(urls) <= MAX_REDIRECTS + 1:
            with self._sent(request, urls, deadline) as answer:
                target = answer.location
                # Where a file's bytes are is for its reader: other files may be there too.
                if target is None or (
                    request.quota == "resolve" and not is_same_host(self.endpoint, target)
                ):
                    return handle(answer)
                answer.drain()
            urls.append(target)
        context = self._context_at(urls[-2], request.context)
        raise network_error(context, f"redirects more than {MAX_REDIRECTS} times, or in circles")

    def _context_at(self, url: str, context: RequestContext) -> RequestContext:
        """What a request was for, with the host that it went to in the end."""
        if is_same_host(self.endpoint, url):
            return context
        return replace(context, elsewhere=origin_text(url))

    @contextmanager
    def _sent(self, request: Request, urls: list[str], deadline: Deadline) -> Iterator[Answer]:
        url = urls[-1]
        headers = {**self._hub_headers(request.context.repo_id), **request.headers}
        if not all(is_same_host(self.endpoint, passed) for passed in urls):
            # The one place that decides it: the token goes to the Hub and to nobody else, nor back
            # to the Hub at somebody else's word.
            headers.pop("authorization", None)
        if not is_web_address(url):
            context = self._context_at((urls[-2:])[0], request.context)
            raise network_error(context, "led to an address that is neither http nor https")
        left = max(deadline.left(), 1e-3)
        wait = min(self.timeout, left)
        times = Times(wait, min(wait * PATIENCE, left), deadline)
        pipeline = "cdn" if request.quota == "cdn" else "hub"
        with self._pipelines[pipeline].sent(url, headers, times) as response:
            answer = Answer(response, self.throttle.clock, wait * PATIENCE)
            if answer.status >= 400 and answer.status not in request.accept:
                raise error_of(answer, request.quota, _secret(headers))
            if answer.leads_nowhere and answer.status not in request.accept:
                raise UnusableAnswerError(f"answered only with status {answer.status}")
            self.throttle.note(request.quota, answer.headers)
            yield answer

    def _attempts(self, error: Exception, request: Request) -> int:
        """How often in all a request is sent that fails like this."""
        if are_used_up(error):  # until the deadline: others close theirs
            return sys.maxsize
        names = {cls.__name__ for cls in type(error).__mro__}
        most = self.policy.attempts if request.attempts is None else request.attempts
        if isinstance(error, ErrorAnswerError):
            return most if error.status in RETRIED_STATUSES else 1
        if isinstance(error, BrokenAnswerError):
            return most
        if isinstance(error, (StalledError, TooSlowError)) or "TimeoutException" in names:
            return min(most, self.policy.timeout_attempts)
        if is_bad_certificate(error):
            return 1
        if isinstance(error, NoConnectionError) or names & {"ConnectError", "ProxyError"}:
            return min(most, self.policy.connect_attempts)
        broken = {"NetworkError", "RemoteProtocolError"}
        return most if isinstance(error, BrokenConnectionError) or names & broken else 1

    def _pause(
        self,
        error: Exception,
        request: Request,
        context: RequestContext,
        deadline: Deadline,
        failures: int,
        waited: float,
    ) -> float:
        """Wait before the next try; seconds that the server named. RateLimitedError if too many."""
        seconds = None
        if isinstance(error, ErrorAnswerError) and error.status in (429, 503):
            seconds = retry_after(error.headers)
            self.throttle.learn(request.quota, error.headers)
        if not isinstance(error, ErrorAnswerError) or seconds is None:
            self.throttle.back_off(failures, max(deadline.left(), 0.0))
            return 0.0
        if waited + seconds > self.policy.max_wait:
            ours = of_answer(error, context)
            if isinstance(ours, RateLimitedError):
                ours.retry_after = seconds
                ours.hint = f"try again in {seconds:.0f} seconds" + (
                    "" if context.has_token else "; with a token the limits are higher"
                )
            raise ours from error
        self.throttle.block(request.quota, seconds)
        return seconds

    def _hub_headers(self, subject: str) -> dict[str, str]:
        if self._headers is None:
            self._headers = hub_headers(self._token, RequestContext(masked(self.endpoint), subject))
        return self._headers

    def reader(self) -> str | None:
        """Who asks, as a digest that says nothing else: of the token, or of a password in the
        endpoint. None for nobody in particular."""
        secret = self._hub_headers("").get("authorization", "")
        if masked(self.endpoint) != self.endpoint:
            secret += " " + self.endpoint
        return hashlib.sha256(f"hfinspect {secret}".encode()).hexdigest() if secret else None

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        for pipeline in self._pipelines.values():
            pipeline.close()


def _secret(headers: Mapping[str, str]) -> str:
    """The token in the headers of a request, which no message may show."""
    return headers.get("authorization", "").partition(" ")[2]


def api_json(answer: Answer, limit: int) -> object:
    """An api answer, parsed. Raises the errors of ``wire.answer``."""
    return parse_json(answer.json(limit))
