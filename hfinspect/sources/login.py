"""As whom the Hub is asked, and where: two arguments, or one object that has both."""

from __future__ import annotations

from typing import Protocol

from ..core.text import of_type
from ..errors import UsageError


class Session(Protocol):
    """What has a login of a Hub: ``huggingface_hub.HfApi``, or anything like it.

    Fields:
        endpoint: the Hub's address; None for the usual one
        token: as in huggingface_hub: None is the saved one, False none
    """

    @property
    def endpoint(self) -> str | None: ...
    @property
    def token(self) -> str | bool | None: ...


def login(
    session: Session | None, token: str | bool | None, endpoint: str | None
) -> tuple[str | bool | None, str | None]:
    """(token, endpoint) of a call. Raises UsageError where both ways say something, and for an
    object that is no session."""
    if session is None:
        return token, endpoint
    if token is not None or endpoint is not None:
        raise UsageError(
            "session", "cannot be combined with a token or an endpoint", expected="one of them"
        )
    try:
        return session.token, session.endpoint
    except AttributeError:
        raise UsageError(
            "session",
            f"is {of_type(session)}",
            expected="an object with token and endpoint",
            hint="pass a huggingface_hub.HfApi, for example",
        ) from None
