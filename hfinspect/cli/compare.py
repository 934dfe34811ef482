"""``hfinspect compare A B [C ...]``: the difference at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.read_fields import FromSource, WithOverrides
from ..core.records import dataclass
from ..errors import UsageError
from . import options
from .option_groups import arguments_of, grouped

if TYPE_CHECKING:
    from ..analysis.differences import Comparison
    from ..core.choices import WeightMethod
    from ..core.weight_changes import ReadingCost


def register(app: typer.Typer) -> None:
    app.command(
        "compare",
        epilog="Example: hfinspect compare openai-community/gpt2 openai-community/gpt2-medium",
    )(compare)


@dataclass(frozen=True, kw_only=True)
class ComparedReading(WithOverrides, FromSource):
    """As what the models are read."""


@grouped
def compare(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="A B...",
            help="Two or more models; one is enough with --set.",
            show_default=False,
        ),
    ],
    *,
    reading: ComparedReading,
    sample: Annotated[
        bool,
        typer.Option(
            "--sample",
            help="Read 4 kB of each tensor too: which layers differ from the first model?",
        ),
    ] = False,
    values: Annotated[
        bool, typer.Option("--values", help="Compare all weights of models on this machine.")
    ] = False,
    format_: options.Format = "table",
    output: options.Output = None,
    access: options.AccessFlags,
) -> None:
    """Compare models side by side. Exit code 1 if structures differ.

    Each model is compared with the first one. --set changes the last model; a single model is
    compared with itself, changed.
    """
    if sample and values:
        raise UsageError("--sample and --values", "exclude each other", expected="one of them")
    compared = [*models, *models] if reading.overrides and len(models) == 1 else models
    method: WeightMethod | None = "sample" if sample else "values" if values else None
    reads = {**arguments_of(reading), **access.arguments(), "weights": method}
    shown = show(compared, reads, format_, output)
    if not shown.same_structure:
        raise typer.Exit(1)


def show(
    models: Sequence[str], reads: dict[str, Any], format_: str, output: Path | None
) -> Comparison:
    """Print the comparison table of several models; ``reads`` are arguments of ``api.compare``."""
    from .. import api
    from ..reports.comparison import lay_out
    from .output import checked_format, emit
    from .reading_line import reading_line

    checked_format(format_)
    with reading_line(*models) as progress:
        comparison = api.compare(*models, **reads, announce=_announce, progress=progress)
    emit(format_, lambda: lay_out(comparison, drawn=format_ == "html"), comparison.to_dict, output)
    return comparison


def _announce(cost: ReadingCost) -> None:
    """What will be read, before it is: on standard error, unless --quiet."""
    from ..core.text import byte_size
    from . import reading_line

    if reading_line.QUIET:
        return
    requests = f", in at most {cost.requests:,} requests" if cost.requests else ""
    text = f"reading {byte_size(cost.nbytes)} of {cost.tensors:,} tensors of both models"
    typer.echo(text + requests, err=True)
