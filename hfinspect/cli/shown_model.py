"""What ``hfinspect MODEL`` shows of one model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import api
from ..core.choices import GROUPS, checked
from ..errors import UsageError
from ..reports.registry import PICTURED
from .output import checked_format, emit, write
from .reading_line import reading_line

if TYPE_CHECKING:
    from ..core.results import Inspection, Totals
    from ..reports.document import Document
    from ..reports.portrait import Portrait


def show_model(
    model: str,
    reads: Mapping[str, Any],
    *,
    by: str = "component",
    format_: str = "table",
    output: Path | None = None,
    update: Path | None = None,
) -> None:
    """One model, read and written: ``reads`` are arguments of ``api.inspect``, the others options
    of ``hfinspect inspect``."""
    checked_format(format_, PICTURED)
    checked("--by", by, GROUPS)
    if update is not None and (output is not None or format_ not in ("table", "card")):
        raise UsageError("--update", "writes a card into its own file", hint="remove -o and -f")
    drawn = format_ in ("html", "svg") or update is not None
    ask: Any = api.inspect
    if drawn:
        from ..pictures import portrait

        ask = partial(portrait, brief=format_ != "html")
    with reading_line(model, revision=reads.get("revision")) as progress:
        found = ask(model, **reads, progress=progress)
    inspection = found.inspection if drawn else found
    if update is not None or format_ == "card":
        shown = _in_text(inspection, by)
        if update is not None:
            from . import model_card

            return model_card.update(update, found, shown)
        from ..reports.card_block import render

        return write(render(inspection, shown), output)
    lay_out = _pictured if drawn else _in_text
    emit(format_, lambda: lay_out(found, by), inspection.to_dict, output, PICTURED)
    return None


def _in_text(found: Inspection, by: str) -> Document:
    from ..analysis.count import per_layer
    from ..reports.overview import lay_out

    return lay_out(found, by=by, groups=_groups(found, by), layers=per_layer(found.tensors))


def _pictured(found: Portrait, by: str) -> Document:
    from ..reports.portrait import lay_out

    return lay_out(found, by=by, groups=_groups(found.inspection, by))


def _groups(found: Inspection, by: str) -> Mapping[str, Totals]:
    from ..analysis.count import GROUPINGS, grouped

    return found.components if by == "component" else grouped(found.tensors, GROUPINGS[by])
