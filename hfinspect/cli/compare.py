"""``hfinspect compare A B [C ...]``: the difference at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .kept_headers import kept_headers

if TYPE_CHECKING:
    from ..analysis.differences import Comparison
    from ..sources.header_cache import HeaderCache


def register(app: typer.Typer) -> None:
    app.command(
        "compare",
        epilog="Example: hfinspect compare openai-community/gpt2 openai-community/gpt2-medium",
    )(compare)


def compare(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="A B...",
            help="Two or more models; one is enough with --set.",
            show_default=False,
        ),
    ],
    source: options.Source = "auto",
    set_: options.Set = None,
    format_: options.Format = "table",
    output: options.Output = None,
    token: options.Token = None,
    timeout: options.Timeout = None,
    no_cache: options.NoCache = False,
    refresh: options.Refresh = False,
    quiet: options.Quiet = False,  # noqa: ARG001 - its callback heeds it
) -> None:
    """Compare models side by side. Exit code 1 if structures differ.

    Each model is compared with the first one. --set changes the last model; with one MODEL, --set
    """
    kept = kept_headers(no_cache=no_cache, refresh=refresh)
    given = [*models, *models] if set_ and len(models) == 1 else models
    if not show(given, source, format_, output, token, timeout, kept, set_).same_structure:
        raise typer.Exit(1)


def show(
    models: Sequence[str],
    source: str,
    format_: str,
    output: Path | None,
    token: str | None,
    timeout: float | None = None,
    cache: HeaderCache | None = None,
    set_: Sequence[str] | None = None,
) -> Comparison:
    """Print the comparison table of several models."""
    from .. import api
    from ..core.overrides import parse_overrides
    from ..reports.comparison import lay_out
    from .output import checked_format, emit
    from .reading_line import reading_line

    checked_format(format_)
    with reading_line(*models) as progress:
        found = api.compare(
            *models,
            source=source,  # type: ignore[arg-type]  # api checks it
            token=token,
            timeout=timeout,
            overrides=parse_overrides(set_ or ()),
            cache=cache,
            progress=progress,
        )
    emit(format_, lambda: lay_out(found, drawn=format_ == "html"), lambda: found.to_dict(), output)
    return found
