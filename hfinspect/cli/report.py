"""``hfinspect report ROWS``: all rows of a scan as one page."""

from typing import Annotated

import typer

from . import options


def register(app: typer.Typer) -> None:
    app.command(
        "report",
        epilog="Example: hfinspect report models.parquet --output report.html; or "
        "hfinspect report models/",
    )(report)


def report(
    rows: Annotated[
        str,
        typer.Argument(
            metavar="ROWS",
            help="What a scan has written: Parquet, CSV, JSON lines or a folder of parts.",
            show_default=False,
        ),
    ],
    format_: options.Format = "table",
    output: options.Output = None,
    quiet: options.Quiet = False,  # noqa: ARG001 - its callback heeds it
) -> None:
    """Show what all rows of a scan come to: architectures, sizes, dtypes, components."""
    from ..reports.scan_report import lay_out
    from ..scanning.summary import report as summed
    from .output import checked_format, emit

    checked_format(format_)
    summary = summed(rows)
    emit(format_, lambda: lay_out(summary), summary.to_dict, output)
