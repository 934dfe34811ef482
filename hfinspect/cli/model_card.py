"""``--format card`` and ``--update README.md``: what is inside, for a model card."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import EntryNotFoundError, LimitError, UnreadableError

if TYPE_CHECKING:
    from ..core.results import Inspection
    from ..reports.document import Document
    from ..reports.portrait import Portrait

#: Bytes of a card that is changed: those of real models have a few hundred kB with their tables.
MAX_CARD: Final = 10_000_000


def update(card: Path, portrait: Portrait, document: Document) -> None:
    """Put the block into ``card`` and the picture next to it; what is the same is not written.

    Raises UsageError, EntryNotFoundError, UnreadableError, LimitError.
    """
    from dataclasses import replace

    from ..reports import svg
    from ..reports.card_block import PICTURE, render, replaced
    from ..reports.portrait import lay_out
    from .output import write

    text = _read(card)
    inspection = portrait.inspection
    drawn = replace(lay_out(portrait), title=_name(inspection))
    for path, new in (
        (card, replaced(text, render(inspection, document), str(card))),
        (card.parent / PICTURE, svg.render(drawn) + "\n"),
    ):
        if not path.is_file() or _read(path) != new:
            write(new.removesuffix("\n"), path)


def _name(inspection: Inspection) -> str:
    """What others call the model: the repo, or the folder's own name."""
    origin = inspection.origin
    return origin.repo_id or (Path(origin.path).name if origin.path else origin.name)


def _read(path: Path) -> str:
    """A text file as it is, line ends too."""
    try:
        if path.stat().st_size > MAX_CARD:
            limit = f"at most {MAX_CARD:,} bytes"
            raise LimitError(str(path), "is larger than a model card", expected=limit)
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        hint = "make an empty file, or print the block with --format card"
        raise EntryNotFoundError(str(path), "does not exist", hint=hint) from None
    except UnicodeDecodeError:
        raise UnreadableError(str(path), "is not text in UTF-8") from None
    except OSError as error:
        raise UnreadableError(str(path), f"cannot be read: {error.strerror}") from None
