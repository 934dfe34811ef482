"""What each request says of us: the user agent, and the token."""

import os
import sys

from ..._version import __version__
from ...errors import UnauthorizedError, UnreadableError, UsageError
from .hub_errors import RequestContext, own_error
from .settings import IN_BROWSER


def hub_headers(token: str | bool | None, context: RequestContext) -> dict[str, str]:
    """User agent and, if there is a token, Authorization. Raises UnauthorizedError.

    Like huggingface_hub's build_hf_headers, but without looking up which program runs us: that
    would be one more request to the Hub, a day.
    """
    headers = {"user-agent": _user_agent()}
    try:
        secret = _token_to_send(token)
    except OSError as error:
        unreadable = UnreadableError(
            context.subject, "the saved token cannot be read", hint=str(error)
        )
        raise own_error(error, context) or unreadable from error
    if secret and not (secret.isascii() and secret.isprintable() and " " not in secret):
        # Said here because the HTTP library's error would quote it.
        raise UnauthorizedError(
            context.subject,
            "the token has characters that tokens never have",
            hint="set the token again with `hf auth login` or HF_TOKEN",
        )
    if secret:
        headers["authorization"] = f"Bearer {secret}"
    return headers


def _user_agent() -> str:
    """Who asks, and on whose behalf where HF_HUB_USER_AGENT_ORIGIN says so, as huggingface_hub puts
    it. Raises UsageError for what no header can hold."""
    if IN_BROWSER:  # it names itself
        return f"hfinspect/{__version__}"
    from huggingface_hub import __version__ as hub_version
    from huggingface_hub import constants

    agent = f"hfinspect/{__version__}; hf_hub/{hub_version}"
    origin = getattr(constants, "HF_HUB_USER_AGENT_ORIGIN", None)
    if origin is None:
        return agent
    if not (origin.isascii() and origin.isprintable()):
        raise UsageError(
            "HF_HUB_USER_AGENT_ORIGIN", "has characters that a header cannot hold", hint="unset it"
        )
    return f"{agent}; origin/{origin}"


def _token_to_send(token: str | bool | None) -> str | None:
    """As huggingface_hub says; what finds a saved one is imported where there may be one."""
    if token is False or (token is None and not may_have_token()):
        return None
    if IN_BROWSER:
        return token if isinstance(token, str) else None
    from huggingface_hub.utils._headers import get_token_to_send

    own_token: str | None = get_token_to_send(token)
    return own_token


#: Variables with a token, or of what exchanges one.
TOKEN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE")


def may_have_token() -> bool:
    """Whether there may be a token on this machine. The library's own search imports parsers and
    locks, which take longer than the request of a small model.

    False only where huggingface_hub's ``get_token`` finds none: no variable of
    ``TOKEN_VARIABLES``, no token file, and no notebook, whose service may keep one."""
    from .settings import hub_constants

    constants = hub_constants()
    if any(os.environ.get(name) for name in TOKEN_VARIABLES) or "IPython" in sys.modules:
        return True
    return os.path.lexists(constants.HF_TOKEN_PATH)
