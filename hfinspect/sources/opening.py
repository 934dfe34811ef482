"""From what a user typed to the source that serves it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..core.refs import ModelRef, parse_ref
from .base import Source
from .local import LocalSource

if TYPE_CHECKING:
    from .header_cache import HeaderCache
    from .hub_client import HubClient
    from .hub_listing import Listing


def resolve(
    target: str | Path, *, revision: str | None = None, endpoint: str | None = None
) -> ModelRef:
    """What a target names. A local path that exists wins over a repo of the same name."""
    if isinstance(target, Path):
        return ModelRef(str(target), path=str(target))
    if endpoint is None and target[:8].lower().startswith(("http://", "https://")):
        from huggingface_hub import constants

        endpoint = constants.ENDPOINT
    return parse_ref(target, revision=revision, endpoint=endpoint, exists=_exists)


def _exists(path: str) -> bool:
    try:
        found = Path(path).expanduser()
        return found.exists() or found.is_symlink()  # a link to nothing is no repo either
    except (OSError, ValueError, RuntimeError):
        return False


def open_source(
    ref: ModelRef,
    *,
    token: str | bool | None = None,
    endpoint: str | None = None,
    timeout: float | None = None,
    client: HubClient | None = None,
    cache: HeaderCache | None = None,
    listing: Listing | None = None,
) -> Source:
    """The source that serves a ref: the disk, or the Hub behind the local Hub cache."""
    if ref.path is not None:
        return LocalSource(ref.path)
    from .hub_cache import CachedHubSource

    assert ref.repo_id is not None
    hub = CachedHubSource(
        ref.repo_id, ref.revision, token=token, endpoint=endpoint, timeout=timeout, client=client,
        listing=listing,
    )  # fmt: skip
    if cache is None:
        return hub
    from .caching import CachingSource

    return CachingSource(hub, cache, hub.hub.client.endpoint)
