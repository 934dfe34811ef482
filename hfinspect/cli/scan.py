"""``hfinspect scan``: many models, one row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from ..scanning.rows import Row

FORMATS = ("jsonl", "csv", "parquet", "table", "markdown")


def register(app: typer.Typer) -> None:
    app.command(
        "scan",
        epilog="Example: hfinspect scan models.txt --format csv --output models.csv --resume",
    )(scan)


def scan(
    targets: Annotated[
        str | None,
        typer.Argument(
            metavar="[LIST]",
            help="A text file, one model a line; - for stdin; with --recursive a directory.",
        ),
    ] = None,
    author: Annotated[str | None, typer.Option(help="List the Hub: models of this owner.")] = None,
    filter_: Annotated[
        list[str] | None, typer.Option("--filter", help="List the Hub: with this tag; repeatable.")
    ] = None,
    search: Annotated[str | None, typer.Option(help="List the Hub: with this text.")] = None,
    sort: Annotated[
        str | None, typer.Option(help="downloads, likes, lastModified, createdAt, trendingScore.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many targets.")] = None,
    recursive: Annotated[
        bool, typer.Option("--recursive", help="Every checkpoint directory below LIST.")
    ] = False,
    totals_only: Annotated[
        bool, typer.Option("--totals-only", help="Only what the Hub's list reports of itself.")
    ] = False,
    format_: Annotated[
        str,
        typer.Option("--format", "-f", help=", ".join(FORMATS), autocompletion=lambda: FORMATS),
    ] = "jsonl",
    output: options.Output = None,
    columns: Annotated[str | None, typer.Option(help="Comma-separated; README lists them.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after the rows there.")] = False,
    refresh: Annotated[
        bool,
        typer.Option(
            "--refresh", help="With --resume: ask again for failed rows and moved revisions."
        ),
    ] = False,
    audit: Annotated[bool, typer.Option("--audit", help="Audit findings as columns.")] = False,
    source: Annotated[str, typer.Option(help="auto, checkpoint or config.")] = "auto",
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=256)] = 16,
    timeout: Annotated[
        float | None, typer.Option(min=0.01, help="Seconds for each wait on the network.")
    ] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="K/N", help="Only the K-th of N parts of the list.")
    ] = None,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Stop at the first failure.")
    ] = False,
    max_failures: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many failures.")
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Keep no headers on this machine.")
    ] = False,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS|local", help="Run on a Dask cluster.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
    token: options.Token = None,
) -> None:
    """One row a model: ok, or failed and why. Exit code 1 if any failed."""
    from ..errors import UsageError
    from ..scanning import rows as columns_of
    from ..scanning.engine import ScanOptions
    from ..scanning.session import Reported, RowWork
    from . import cache
    from .scanning import Plan, execute, listed, named

    plan = Plan(
        format_=format_,
        output=output,
        resume=resume or refresh,
        refresh=refresh,
        jobs=jobs,
        quiet=quiet,
        most_failures=1 if fail_fast else max_failures,
        dask=dask,
        shard=shard,
    )
    plan.check(FORMATS)
    scan_options = ScanOptions(
        source=source,  # type: ignore[arg-type]  # api checks it
        token=token,
        timeout=timeout,
        cache_dir=None if no_cache else cache.directory(),
    )
    work: Callable[[str], Row]
    if author or filter_ or search:
        found = listed(scan_options, author, search, tuple(filter_ or ()), sort, limit)
        names = [model.repo_id for model in found]
    elif totals_only:
        raise UsageError(
            "--totals-only", "needs the Hub's list", expected="--author, --filter or --search"
        )
    else:
        names, found = named(targets, recursive)[:limit], []
    if totals_only:
        chosen = tuple(columns_of.TOTALS_COLUMNS)
        work = Reported(found)
    else:
        chosen = columns_of.chosen_columns(columns)
        chosen += tuple(columns_of.AUDIT_COLUMNS) if audit else ()
        work = RowWork(scan_options, chosen, audit)
    if execute(plan, names, work, chosen):
        raise typer.Exit(1)
