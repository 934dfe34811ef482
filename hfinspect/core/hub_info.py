"""HubInfo: what the Hub's answer about a model says in addition to its files."""

from __future__ import annotations

from .json_form import JsonForm
from .records import dataclass


@dataclass(frozen=True)
class HubInfo(JsonForm):
    """The model card's licence and library, and the Hub's own state of the repo; None is unknown.

    Fields:
        license: the licence in the model card
        gated: ``auto`` or ``manual`` (how access is granted), or False
        last_modified [ISO 8601, UTC]: time of the last commit
        library: the library that loads it
        task: the Hub's ``pipeline_tag``
        tags: as the Hub lists them
    """

    license: str | None = None
    gated: str | bool | None = None
    last_modified: str | None = None
    library: str | None = None
    task: str | None = None
    tags: tuple[str, ...] = ()
