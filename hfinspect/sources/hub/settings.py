"""What the environment says about the Hub, as huggingface_hub reads it, checked once."""

from __future__ import annotations

from typing import Any

from ...errors import UsageError
from .http import is_web_address

#: A day: who waits longer for one answer does not wait for an answer.
MAX_TIMEOUT = 86_400.0


def hub_constants() -> Any:
    """``huggingface_hub.constants``. Raises UsageError where it cannot make sense of a variable."""
    try:
        from huggingface_hub import constants
    except ValueError as error:  # HF_HUB_DOWNLOAD_TIMEOUT=soon
        raise UsageError(
            "the environment",
            f"is refused by huggingface_hub ({error})",
            hint="check HF_ENDPOINT and the variables that begin with HF_HUB_",
        ) from None
    return constants


def checked_endpoint(endpoint: str) -> str:
    """An endpoint without a slash at its end. Raises UsageError if it is no web address."""
    bare = endpoint.rstrip("/")
    if not is_web_address(bare) or not bare.isprintable() or " " in bare:
        raise UsageError(
            endpoint or "the endpoint",
            "is no address of a Hub",
            expected="http(s)://host",
            hint="check HF_ENDPOINT",
        )
    return bare


def checked_timeout(seconds: float) -> float:
    """Raises UsageError for a time that nobody can wait."""
    if not 0 < seconds <= MAX_TIMEOUT:
        raise UsageError(
            f"a timeout of {seconds:g} seconds",
            "is impossible",
            expected=f"more than 0 and at most {MAX_TIMEOUT:,.0f}",
            hint="check HF_HUB_DOWNLOAD_TIMEOUT",
        )
    return seconds
