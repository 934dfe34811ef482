"""What lies in a model's folder, as a bill of materials lists it."""

from __future__ import annotations

from typing import NamedTuple

from .records import dataclass


class InventoryFile(NamedTuple):
    """One file.

    Fields:
        path: below the model's root, with forward slashes
        size [bytes]: None if unknown
        sha256: of the content; None where neither the Hub, the disk nor a deep audit says it
    """

    path: str
    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Inventory:
    """The files of an audited target, and what its card and its config say of it.

    Fields:
        files: by path
        licence: as the model card spells it; None where it names none
        base_models: repo_ids that the card names
        architecture: the class that config.json names
        model_type: as config.json names it
    """

    files: tuple[InventoryFile, ...] = ()
    licence: str | None = None
    base_models: tuple[str, ...] = ()
    architecture: str | None = None
    model_type: str | None = None
