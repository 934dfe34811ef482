"""``hfinspect MODEL``: what is inside."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.choices import GROUPS, checked, listed
from ..errors import UsageError
from . import options
from .kept_headers import kept_headers

if TYPE_CHECKING:
    from ..core.results import Inspection, Totals
    from ..reports.document import Document
    from ..reports.portrait import Portrait


def register(app: typer.Typer) -> None:
    app.command(
        "inspect",
        epilog="Example: hfinspect openai-community/gpt2 --by layer, or --output gpt2.html",
    )(inspect)


def inspect(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="org/name, org/name@revision, hf:// or Hub URL, directory, weight file or "
            "config.json. Several are compared side by side.",
            show_default=False,
        ),
    ],
    revision: options.Revision = None,
    source: options.Source = "auto",
    by: Annotated[
        str,
        typer.Option(help=f"{listed(GROUPS)}.", autocompletion=lambda: list(GROUPS)),
    ] = "component",
    set_: options.Set = None,
    file: options.File = None,
    format_: options.PicturedFormat = "table",
    output: options.Output = None,
    update: Annotated[
        Path | None,
        typer.Option(
            metavar="README.md",
            help="Put the card's block into this file, and a picture next to it.",
            show_default=False,
        ),
    ] = None,
    token: options.Token = None,
    timeout: options.Timeout = None,
    no_cache: options.NoCache = False,
    refresh: options.Refresh = False,
) -> None:
    """Parameters, dtypes and memory of a model, from headers or config.json alone."""
    kept = kept_headers(no_cache=no_cache, refresh=refresh)
    if len(models) > 1:
        from .compare import show

        if revision or by != "component" or set_ or file or update:
            raise UsageError(
                "--revision, --by, --set, --file and --update",
                "are for one model, and several were given",
                hint="a revision goes with its model: org/name@revision",
            )  # fmt: skip
        show(models, source, format_, output, token, timeout, kept)
        return None
    from .. import api
    from ..core.overrides import parse_overrides
    from .options import PICTURED
    from .output import checked_format, emit
    from .reading_line import reading_line

    checked_format(format_, PICTURED)
    checked("--by", by, GROUPS)
    if update is not None and (output is not None or format_ not in ("table", "card")):
        raise UsageError("--update", "writes a card into its own file", hint="no -o, no -f with it")
    drawn = format_ in ("html", "svg") or update is not None
    ask: Any = api.inspect
    if drawn:
        from ..pictures import portrait

        ask = partial(portrait, brief=format_ != "html")
    with reading_line(models[0], revision=revision) as progress:
        found = ask(
            models[0], revision=revision, source=source, token=token, file=file,
            overrides=parse_overrides(set_ or ()), timeout=timeout, cache=kept,
            progress=progress,
        )  # fmt: skip
    inspection = found.inspection if drawn else found
    if update is not None or format_ == "card":
        shown = _in_text(inspection, by)
        if update is not None:
            from . import model_card

            return model_card.update(update, found, shown)
        from ..reports.card_block import render
        from .output import write

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
