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
    verb: Any = api.inspect
    if drawn:
        from ..pictures import portrait

        verb = partial(portrait, brief=format_ != "html")
    with reading_line(model, revision=reads.get("revision")) as progress:
        answer = verb(model, **reads, progress=progress)
    inspection = answer.inspection if drawn else answer
    if update is not None or format_ == "card":
        shown = _in_text(inspection, by)
        if update is not None:
            from . import model_card

            return model_card.update(update, answer, shown)
        from ..reports.card_block import render

        return write(render(inspection, shown), output)
    lay_out = _pictured if drawn else _in_text
    emit(format_, lambda: lay_out(answer, by), inspection.to_dict, output, PICTURED)
    return None


def _in_text(inspection: Inspection, by: str) -> Document:
    from ..analysis.count import per_layer
    from ..reports.overview import lay_out

    return lay_out(
        inspection, by=by, groups=_groups(inspection, by), layers=per_layer(inspection.tensors)
    )


def _pictured(portrait: Portrait, by: str) -> Document:
    from ..reports.portrait import lay_out

    return lay_out(portrait, by=by, groups=_groups(portrait.inspection, by))


def _groups(inspection: Inspection, by: str) -> Mapping[str, Totals]:
    from ..analysis.count import GROUPINGS, grouped

    return (
        inspection.components if by == "component" else grouped(inspection.tensors, GROUPINGS[by])
    )
