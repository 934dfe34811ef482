"""``hfinspect compare A B [C ...]``: the difference at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from . import options
from .kept_headers import kept_headers

if TYPE_CHECKING:
    from ..analysis.differences import Comparison
    from ..core.choices import WeightMethod
    from ..core.weight_changes import ReadingCost
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
    sample: Annotated[
        bool,
        typer.Option(
            "--sample",
            help="Read 4 kB of each tensor too: which layers differ from the first model?",
        ),
    ] = False,
    values: Annotated[
        bool,
        typer.Option("--values", help="Compare all weights of models on this machine."),
    ] = False,
    format_: options.Format = "table",
    output: options.Output = None,
    token: options.Token = None,
    timeout: options.Timeout = None,
    no_cache: options.NoCache = False,
    refresh: options.Refresh = False,
    quiet: options.Quiet = False,  # noqa: ARG001 - its callback heeds it
) -> None:
    """Compare models side by side. Exit code 1 if structures differ.

    Each model is compared with the first one. --set changes the last model; a single model is
    compared with itself, changed.
    """
    if sample and values:
        raise UsageError("--sample and --values", "exclude each other", expected="one of them")
    kept = kept_headers(no_cache=no_cache, refresh=refresh)
    given = [*models, *models] if set_ and len(models) == 1 else models
    method: WeightMethod | None = "sample" if sample else "values" if values else None
    shown = show(given, source, format_, output, token, timeout, kept, set_, method)
    if not shown.same_structure:
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
    weights: WeightMethod | None = None,
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
            weights=weights,
            announce=_announce,
            cache=cache,
            progress=progress,
        )
    emit(format_, lambda: lay_out(found, drawn=format_ == "html"), lambda: found.to_dict(), output)
    return found


def _announce(cost: ReadingCost) -> None:
    """What will be read, before it is: on standard error, unless --quiet."""
    from ..core.text import byte_size
    from . import reading_line

    if reading_line.QUIET:
        return
    requests = f", in at most {cost.requests:,} requests" if cost.requests else ""
    text = f"reading {byte_size(cost.nbytes)} of {cost.tensors:,} tensors of both models"
    typer.echo(text + requests, err=True)
