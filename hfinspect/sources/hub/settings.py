"""What the environment says about the Hub, as huggingface_hub reads it, checked once."""

import os
import sys
from typing import Any, Final

from ...core.refs import masked
from ...errors import UsageError
from .wire.address import is_web_address

#: Whether this is WebAssembly in a browser (Pyodide).
IN_BROWSER: Final = sys.platform == "emscripten"


class BrowserConstants:
    """What huggingface_hub's constants are where nothing is set; ``HF_ENDPOINT`` may be."""

    HF_HUB_OFFLINE: Final = False
    HF_HUB_DOWNLOAD_TIMEOUT: Final = 10
    HF_HUB_CACHE: Final = "/nowhere"
    HF_TOKEN_PATH: Final = "/nowhere/token"  # noqa: S105 - no token, a place
    REPO_ID_SEPARATOR: Final = "--"

    @property
    def ENDPOINT(self) -> str:  # noqa: N802 - huggingface_hub's name
        return os.environ.get("HF_ENDPOINT", "https://huggingface.co")


def hub_constants() -> Any:
    """``huggingface_hub.constants``, or in a browser, where that library is not, its defaults.
    Raises UsageError where it cannot make sense of a variable."""
    try:
        from huggingface_hub import constants
    except ModuleNotFoundError:
        if not IN_BROWSER:
            raise
        return BrowserConstants()
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
            "is not the address of a Hub",
            expected="http(s)://host",
            hint="check HF_ENDPOINT",
        )
    return bare
