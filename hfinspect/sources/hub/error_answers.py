"""What an answer of status 400 or more means, and what is raised once no further try is left."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from ...core.text import clean
from ...errors import AccessError, HfinspectError, LimitError
from .connection_errors import certificate_error, proxy_error, why_none
from .hub_errors import RequestContext, build, by_status, network_error, own_error
from .settings import IN_BROWSER
from .wire.answer import Answer, BrokenAnswerError, TooLongError, UnusableAnswerError
from .wire.http_library import http_library

#: What may be better a moment later.
RETRIED_STATUSES: Final = frozenset({408, 429, 500, 502, 503, 504})

#: What may be a matter of the token.
_LOCKED: Final = frozenset({401, 403, 404})

#: Characters that are shown of what a server says of an error.
MAX_SAID: Final = 200
#: Characters that are shown of the name that it gave the request; the Hub's have 36.
MAX_REQUEST_ID: Final = 80

#: Headers with the name that a server gave a request: the first one counts, as in huggingface_hub.
_REQUEST_IDS: Final = ("x-request-id", "x-amzn-trace-id", "x-amz-cf-id")


class ErrorAnswerError(Exception):
    """An answer of status 400 or more. ``message`` is what its server says of it; ``meant`` is
    huggingface_hub's error for it, None where it could not make one of that answer."""

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        message: str | None = None,
        meant: Exception | None = None,
    ) -> None:
        self.status = status
        self.headers = headers
        self.message = message
        self.meant = meant
        super().__init__(status)

    def __reduce__(self) -> tuple[object, ...]:
        # It is the cause of errors that cross process borders, where ``meant`` cannot always go.
        return type(self), (self.status, dict(self.headers), self.message, None)


class RefusedError(ErrorAnswerError):
    """The storage host says no: usually a signed address that has expired."""


def error_of(answer: Answer, quota: str, secret: str) -> ErrorAnswerError:
    """The error for an answer of status 400 or more, to a request that was sent with ``secret``.

    Its body is read only to keep the connection, and nothing that huggingface_hub may raise while
    it looks at the answer is passed on.
    """
    with suppress(Exception):  # a body that is cut or stalls says no less than one that is not
        answer.drain()
    message = _words(answer.headers, secret)
    if quota == "cdn" and answer.status not in RETRIED_STATUSES:
        return RefusedError(answer.status, answer.headers, message)
    meant = None
    if not IN_BROWSER and says_its_kind(answer.status, answer.headers):
        from huggingface_hub import hf_raise_for_status

        try:
            hf_raise_for_status(only_telling(answer.status, answer.headers, answer.url))
        except Exception as error:
            meant = error  # what the table of translate() does not know counts by its status
    return ErrorAnswerError(answer.status, answer.headers, message, meant)


def _words(headers: Mapping[str, str], secret: str) -> str | None:
    """What a server says of an error, safe to show: ``"its message" (request 1-2-3)``."""

    def shown(name: str, limit: int) -> str:
        text = headers.get(name, "").strip()
        return clean(text.replace(secret, "***") if secret else text, limit)

    message = shown("x-error-message", MAX_SAID)
    request = next(filter(None, (shown(name, MAX_REQUEST_ID) for name in _REQUEST_IDS)), "")
    parts = [f'"{message}"' if message else "", f"(request {request})" if request else ""]
    return " ".join(filter(None, parts)) or None


#: Of an error answer's headers, those by which huggingface_hub distinguishes errors.
_TELLING = ("x-error-code", "x-error-message")


def says_its_kind(status: int, headers: Mapping[str, str]) -> bool:
    """Whether huggingface_hub sees more in an error answer than its status."""
    return status < 403 or any(name in headers for name in _TELLING)


def only_telling(status: int, headers: Mapping[str, str], url: str) -> Any:
    """An error answer without its body and the headers that say nothing of the kind of error:
    huggingface_hub reads more of them than is good with a hostile server."""
    library = http_library()
    known = {name: headers[name] for name in _TELLING if name in headers}
    return library.Response(status, headers=known, request=library.Request("GET", url))


def of_answer(error: ErrorAnswerError, context: RequestContext) -> HfinspectError:
    """Our error for an answer of status 400 or more."""
    known = None if error.meant is None else own_error(error.meant, context)
    ours = known or build(by_status(error.status, context), context)
    if context.elsewhere and context.has_token and error.status in _LOCKED:
        known_hint = f"; {ours.hint}" if ours.hint else ""
        only = f"the token is sent to {context.endpoint} alone: set HF_ENDPOINT={context.elsewhere}"
        ours.hint = f"{only} if that is your Hub now{known_hint}"
    if isinstance(ours, AccessError):
        ours.server_said = error.message
    return ours


def final_error(error: Exception, context: RequestContext, url: str) -> HfinspectError | None:
    """Our error for what the last request met, at ``url``; None for what is a bug."""
    if isinstance(error, ErrorAnswerError):
        return of_answer(error, context)
    if isinstance(error, TooLongError):
        problem = "is larger" if context.path else "the Hub's answer about it is larger"
        limit = f"at most {error.limit:,} bytes"
        return LimitError(context.subject, problem, expected=limit, where=context.path)
    if isinstance(error, (BrokenAnswerError, UnusableAnswerError)):
        return network_error(context, str(error))
    blamed = certificate_error(error, context) or proxy_error(error, url, context)
    if blamed is not None:
        return blamed
    ours = own_error(error, context)
    why = why_none(error)
    if ours is not None and why and ours.found.startswith("no connection to "):
        ours.found += f": {why}"
    return ours
