"""Why there is no connection, as far as the system knows it, and what helps against just that.

The system's errors are looked for below those of whoever connected: our own connections, or the
HTTP library that huggingface_hub uses.
"""

import errno
import socket
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from ...core.refs import masked
from ...core.text import clean
from ...errors import NetworkError
from .hub_errors import RequestContext, network_error_of

#: Errors below errors are looked at so far down.
_DEPTH: Final = 10

_RENEW = "whoever runs it has to renew it; check the clock of this machine too"
_AUTHORITY = "a proxy may replace it: set SSL_CERT_FILE to a file with the authority that signed it"
_OTHER_HOST = "a proxy or a network's log-in page may answer in its place"


class _Fault(NamedTuple):
    """What is wrong with a certificate, and what helps."""

    problem: str
    hint: str


#: By OpenSSL's number (X509_V_ERR_... in openssl/x509_vfy.h).
_CERTIFICATES: Final[Mapping[int, _Fault]] = {
    9: _Fault("is not valid yet", "check the clock of this machine"),
    10: _Fault("has expired", _RENEW),
    18: _Fault(
        "is self-signed",
        "if you trust it, set SSL_CERT_FILE to a file with this certificate; else something in the "
        "network answers in its place",
    ),
    19: _Fault("is signed by an authority that is not trusted", _AUTHORITY),
    20: _Fault("is signed by an authority that is not trusted", _AUTHORITY),
    21: _Fault("is signed by an authority that is not trusted", _AUTHORITY),
    23: _Fault("has been revoked", "whoever runs it has to replace it"),
    62: _Fault("is for another host", _OTHER_HOST),
    64: _Fault("is for another host", _OTHER_HOST),
}


def _below(error: BaseException) -> Iterator[BaseException]:
    """An error and what caused it, down to the system's."""
    at: BaseException | None = error
    for _ in range(_DEPTH):
        if at is None:
            return
        yield at
        at = at.__cause__ or at.__context__


def _tls_error(error: BaseException, name: str) -> Any:
    """The error of this class of ``ssl`` below another, or None. Where nothing has imported
    ``ssl``, there is none."""
    kind = getattr(sys.modules.get("ssl"), name, ())
    return next((one for one in _below(error) if isinstance(one, kind)), None)


def is_bad_certificate(error: BaseException) -> bool:
    """Whether a certificate is refused: another try would meet the same one."""
    return _tls_error(error, "SSLCertVerificationError") is not None


def certificate_error(error: Exception, context: RequestContext) -> NetworkError | None:
    """Our error for a certificate that is refused, with the reason; None for other errors."""
    refused = _tls_error(error, "SSLCertVerificationError")
    if refused is None:
        return None
    fault = _CERTIFICATES.get(getattr(refused, "verify_code", 0))
    if fault is None:
        reason = clean(str(getattr(refused, "verify_message", "") or refused), 100)
        fault = _Fault(f"is not trusted: {reason}", _AUTHORITY)
    return network_error_of(
        context, f"the certificate of {context.server} {fault.problem}", fault.hint
    )


def why_none(error: Exception) -> str | None:
    """Why a connection could not be made, in a few words; None where the system does not say."""
    for one in _below(error):
        if isinstance(one, socket.gaierror):
            return "its name cannot be looked up"
        if isinstance(one, ConnectionRefusedError):
            return "it refuses connections"
        if isinstance(one, OSError) and one.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH):
            return "no network leads there"
    tls = _tls_error(error, "SSLError")
    if tls is None:
        return None
    reason = str(getattr(tls, "reason", None) or "no reason given")
    return f"encryption fails ({clean(reason.lower().replace('_', ' '), 60)})"


def proxy_error(error: Exception, url: str, context: RequestContext) -> NetworkError | None:
    """Our error where it is the proxy for an address that cannot be reached; None if none is set,
    or the connection came further than to the proxy."""
    class_names = {cls.__name__ for cls in type(error).__mro__}
    if "ConnectError" not in class_names or _tls_error(error, "SSLError") is not None:
        return None
    proxy = _proxy_for(url)
    if proxy is None:
        return None
    why = why_none(error)
    return network_error_of(
        context,
        f"no connection to the proxy {clean(masked(proxy), 100)}{f': {why}' if why else ''}",
        "check HTTP_PROXY and HTTPS_PROXY; NO_PROXY names hosts that need none",
    )


def _proxy_for(url: str) -> str | None:
    """The proxy that the environment, or the system, names for an address."""
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    parts = urlsplit(url)
    if parts.hostname is None or proxy_bypass(parts.hostname):
        return None
    return proxies.get(parts.scheme) or proxies.get("all")
