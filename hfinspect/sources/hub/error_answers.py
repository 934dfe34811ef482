"""What an answer of status 400 or more means, and what is raised once no further try is left."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from ...errors import HfinspectError, LimitError, NetworkError
from .hub_errors import RequestContext, build, by_status, network_error, translate
from .wire.answer import Answer, BrokenAnswerError, TooLongError, UnusableAnswerError
from .wire.http_library import http_library

#: What may be better a moment later.
RETRIED_STATUSES: Final = frozenset({408, 429, 500, 502, 503, 504})


class RefusedError(Exception):
    """The storage host says no: usually a signed address that has expired."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(status)


class ErrorAnswerError(Exception):
    """An answer of status 400 or more. ``meant`` is huggingface_hub's error for it, None where it
    could not make one of that answer."""

    def __init__(self, status: int, headers: Mapping[str, str], meant: Exception | None) -> None:
        self.status = status
        self.headers = headers
        self.meant = meant
        super().__init__(status)

    def __reduce__(self) -> tuple[object, ...]:
        # It is the cause of errors that cross process borders, where ``meant`` cannot always go.
        return type(self), (self.status, dict(self.headers), None)


def error_of(answer: Answer, quota: str) -> Exception:
    """The error for an answer of status 400 or more.

    Its body is read only to keep the connection, and nothing that huggingface_hub may raise while
    it looks at the answer is passed on.
    """
    with suppress(Exception):  # a body that is cut or stalls says no less than one that is not
        answer.drain()
    if quota == "cdn" and answer.status not in RETRIED_STATUSES:
        return RefusedError(answer.status)
    meant = None
    if says_its_kind(answer.status, answer.headers):
        from huggingface_hub import hf_raise_for_status

        try:
            hf_raise_for_status(only_telling(answer.status, answer.headers, answer.url))
        except Exception as error:
            meant = error  # what the table of translate() does not know counts by its status
    return ErrorAnswerError(answer.status, answer.headers, meant)


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


def final_error(error: Exception, asked: RequestContext) -> HfinspectError | None:
    if isinstance(error, ErrorAnswerError):
        known = None if error.meant is None else translate(error.meant, asked)
        return known or build(by_status(error.status, asked), asked)
    if isinstance(error, TooLongError):
        found = "is larger" if asked.path else "the Hub's answer about it is larger"
        limit = f"at most {error.limit:,} bytes"
        return LimitError(asked.subject, found, expected=limit, where=asked.path)
    if isinstance(error, (BrokenAnswerError, UnusableAnswerError)):
        return network_error(asked, str(error))
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return NetworkError(
            asked.subject,
            f"the certificate of {asked.endpoint} is not trusted",
            hint="a proxy may replace it; set SSL_CERT_FILE to its authority",
        )
    return translate(error, asked)
