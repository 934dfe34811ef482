"""Which model is read and how it is reached: arguments that several verbs take."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.choices import check_source
from ..core.read_fields import ModelReading
from ..core.records import dataclass
from ..sources.access_options import AccessOptions
from ..sources.opening import Access
from .build import Inspected
from .inspect_run import inspect_target

if TYPE_CHECKING:
    from ..sources.hub.model_info import Listing


@dataclass(frozen=True, kw_only=True)
class ReadOptions(AccessOptions, ModelReading):
    """The arguments of ``hfinspect.inspect``, whose docstring says what they are."""


@dataclass(frozen=True, kw_only=True)
class ListedOptions(ReadOptions):
    """The same, of a model whose files are listed already."""

    listing: Listing | None = None

    def access(self) -> Access:
        return replace(super().access(), listing=self.listing)


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
