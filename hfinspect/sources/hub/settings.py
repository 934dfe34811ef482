"""What the environment says about the Hub, as huggingface_hub reads it, checked once."""

from __future__ import annotations

from typing import Any

from ...core.refs import masked
from ...errors import UsageError
from .wire.address import is_web_address


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
    """An endpoint without a slash at its end. Raises UsageError if it is no web address, or one
    that no path can be added to."""
    bare = endpoint.rstrip("/")
    if not is_web_address(bare) or not bare.isprintable() or not set(bare).isdisjoint(" ?#"):
        raise UsageError(
            masked(endpoint) or "the endpoint",
            "is no address of a Hub",
            expected="http(s)://host",
            hint="check HF_ENDPOINT",
        )
    return bare
