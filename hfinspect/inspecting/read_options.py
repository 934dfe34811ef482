"""Which model is read and how it is reached: arguments that several verbs take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ..core.choices import SourceChoice, check_source
from ..core.progress import Progress
from ..core.records import dataclass
from ..sources.deadline import Timeout
from ..sources.login import Session
from ..sources.opening import Access
from .build import Inspected
from .inspect_run import inspect_target

if TYPE_CHECKING:
    from ..sources.header_cache import HeaderCache
    from ..sources.hub.client import HubClient


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """The arguments of ``hfinspect.inspect``, whose docstring says what they are."""

    overrides: Mapping[str, Any] | None = None
    revision: str | None = None
    source: SourceChoice = "auto"
    token: str | bool | None = field(default=None, repr=False)
    session: Session | None = field(default=None, repr=False)
    file: str | None = None
    endpoint: str | None = None
    timeout: Timeout = None
    client: HubClient | None = None
    cache: HeaderCache | None = None
    progress: Progress | None = None

    def access(self) -> Access:
        """Raises UsageError where a session and a token are given."""
        return Access.of(
            self.session,
            self.token,
            self.endpoint,
            self.timeout,
            self.client,
            self.cache,
            progress=self.progress,
        )


def inspect_with(
    options: ReadOptions, target: Any, *, unsized: bool = False
) -> tuple[Inspected, Access]:
    """What was read of a model, and how other models are reached in the same way. ``unsized`` as in
    ``inspect_target``."""
    check_source(options.source, options.overrides)
    access = options.access()
    inspected = inspect_target(
        target,
        access,
        revision=options.revision,
        source=options.source,
        file=options.file,
        overrides=options.overrides,
        unsized=unsized,
    )
    return inspected, access
