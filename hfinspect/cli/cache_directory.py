"""Where headers are kept on this machine, and whether a command uses them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..sources.header_cache import HeaderCache


def directory() -> str:
    """HFINSPECT_CACHE, or the platform's cache directory."""
    path = os.environ.get("HFINSPECT_CACHE")
    if path:
        return path
    from platformdirs import user_cache_dir

    return user_cache_dir("hfinspect", appauthor=False)


def header_cache(*, no_cache: bool = False, refresh: bool = False) -> HeaderCache | None:
    """The cache of headers; None for ``--no-cache``. Nothing is looked at before it is needed."""
    from ..sources.header_cache import HeaderCache

    return None if no_cache else HeaderCache(directory, refresh=refresh)
