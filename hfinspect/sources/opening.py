"""From what a user typed to the source that serves it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.progress import Progress
from ..core.records import dataclass
from ..core.refs import ModelRef, masked, parse_ref
from ..core.text import of_type
from ..errors import MalformedError, RepoNotFoundError, UnknownArchitectureError, UsageError
from .deadline import Deadline, Timeout
from .local import LocalSource
from .local_paths import may_be_read, mounted
from .source import Source

if TYPE_CHECKING:
    from .header_cache import HeaderCache
    from .hub.client import HubClient
    from .hub.model_info import Listing


def resolve(
    target: object, *, revision: str | None = None, endpoint: str | None = None
) -> ModelRef:
    """What a target names. A local path that exists wins over a repo of the same name."""
    if isinstance(target, os.PathLike):
        return ModelRef(os.fspath(target), path=os.fspath(target))
    if not isinstance(target, str):
        raise UsageError(
            "target", f"is {of_type(target)}", expected="a repo id, a path or a config"
        )
    if endpoint is None and target[:8].lower().startswith(("http://", "https://")):
        from .hub.settings import hub_constants

        endpoint = hub_constants().ENDPOINT
    return parse_ref(target, revision=revision, endpoint=endpoint, exists=_exists)


def _exists(path: str) -> bool:
    """Whether there is something, be it a link to nothing or in a directory one may not enter."""
    if not may_be_read(path):
        return False
    try:
        Path(path).expanduser().lstat()
    except PermissionError:
        return True
    except (OSError, ValueError, RuntimeError):
        return False
    return True


def local_source(path: str | os.PathLike[str]) -> Source:
    """A directory or a file on disk, or what a server has at this path."""
    return mounted(os.fspath(path)) or LocalSource(path)


@contextmanager
def errors_about(ref: ModelRef) -> Iterator[None]:
    """Errors inside name the target, where they know no more than a file's name or a config key."""
    try:
        yield
    except (MalformedError, UnknownArchitectureError) as error:
        name = ref.path or ref.text
        if error.subject not in (name, ref.repo_id):
            error.of(name)
        raise
    except RepoNotFoundError as error:
        if ref.text.partition("@")[0] == ref.repo_id:  # not an address, so it could be either
            error.hint = f"there is no local path {ref.text} either; {error.hint}"
        raise


@dataclass(frozen=True)
class Access:
    """How targets are reached: one value for all that a run needs of the network.

    ``token`` as in huggingface_hub (None is the saved one, False none). ``timeout`` is in seconds
    from the opening of each target, or one deadline for all of them. ``client`` shares connections
    and rate limits, ``cache`` keeps headers between runs, ``listing`` is the Hub's file list of the
    target where it is known already. ``progress`` is called while headers are read. ``sources``
    are open already: who opens one of these refs gets it as it is.
    """

    token: str | bool | None = field(default=None, repr=False)
    endpoint: str | None = None
    timeout: Timeout = None
    client: HubClient | None = None
    cache: HeaderCache | None = None
    listing: Listing | None = None
    progress: Progress | None = None
    sources: Mapping[ModelRef, Source] = field(default_factory=dict, repr=False)

    def started(self) -> Access:
        """With the time running from now."""
        return replace(self, timeout=Deadline.of(self.timeout))

    def resolve(self, target: object, revision: str | None = None) -> ModelRef:
        """What a target names."""
        return resolve(target, revision=revision, endpoint=self.endpoint)

    def open(self, ref: ModelRef) -> Source:
        """The source that serves a ref: the disk, or the Hub behind the local Hub cache."""
        if ref.path is not None:
            return local_source(ref.path)
        if ref in self.sources:
            return self.sources[ref]
        from .hub.repo import HubSource
        from .hub.snapshots import CachedHubSource

        assert ref.repo_id is not None
        hub = HubSource(
            ref.repo_id,
            ref.revision,
            token=self.token,
            endpoint=self.endpoint,
            client=self.client,
            listing=self.listing,
            deadline=Deadline.of(self.timeout),
        )
        cached = CachedHubSource(hub)
        if self.cache is None:
            return cached
        from .caching import CachingSource

        return CachingSource(cached, self.cache, masked(hub.client.endpoint))

    @contextmanager
    def opened(self, ref: ModelRef) -> Iterator[Source]:
        """The same for a while; errors name the target."""
        source = self.open(ref)
        with errors_about(ref), closing(source):
            yield source
        self.check(ref)

    def check(self, ref: ModelRef) -> None:
        """Raises CancelledError where the deadline was cancelled: what was read until then would be
        taken for all there is."""
        if isinstance(self.timeout, Deadline) and self.timeout.cancelled:
            raise self.timeout.error(ref.text)
