"""The HTTP library that huggingface_hub is built on, imported where it is needed."""

import sys
from typing import Any


def http_library() -> Any:
    """httpx, or its successor if that is what this huggingface_hub is built on."""
    from huggingface_hub.errors import HfHubHTTPError

    for cls in HfHubHTTPError.__mro__:
        if cls.__name__ == "HTTPError":
            return sys.modules[cls.__module__.partition(".")[0]]
    raise TypeError("this version of huggingface_hub is not built on httpx")
