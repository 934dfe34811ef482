"""``hfinspect scan``: many models, one row each."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.choices import SOURCES, checked, listed
from ..core.memory_options import RowMemory
from ..core.read_fields import FromSource
from ..errors import UsageError
from ..reports.registry import OF_ROWS
from ..sources.access_options import LoginOptions
from . import options
from .option_groups import arguments_of, grouped

if TYPE_CHECKING:
    from ..scanning.engine import ScanOptions
    from ..sizing.memory_request import MemoryRequest
    from .listing import HubQuery
    from .scan_plan import Job, ScanPlan


#: Columns of memory that a table always has: with a device, and without one.
_SHOWN = ("fits", "max_context")
_SIZES = ("memory_context", "memory_cache", "memory_total")


def register(app: typer.Typer) -> None:
    app.command(
        "scan",
        epilog="Example: hfinspect scan models.txt --format csv --output models.csv --resume; or "
        "hfinspect scan models.txt --on 24GB --context 8k --sort max_context; or "
        "hfinspect scan --filter safetensors --output models/ --resume",
    )(scan)


@grouped
def scan(
    targets: Annotated[
        str | None,
        typer.Argument(
            metavar="LIST",
            help="Text file with one model per line, - for stdin, or (with --recursive) a "
            "directory.",
        ),
    ] = None,
    *,
    author: Annotated[str | None, typer.Option(help="Scan the Hub models of this owner.")] = None,
    filter_: Annotated[
        list[str] | None,
        typer.Option(
            "--filter", metavar="TAG", help="Scan the Hub models with this tag; repeatable."
        ),
    ] = None,
    search: Annotated[
        str | None, typer.Option(help="Scan the Hub models whose name contains this text.")
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            metavar="BY",
            help="Order of the Hub's list: downloads, likes, lastModified, createdAt or "
            "trendingScore. "
            "Or a column such as max_context: sorts the rows, largest first.",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Scan at most this many models.")] = None,
    recursive: Annotated[
        bool, typer.Option("--recursive", help="Scan every checkpoint directory below LIST.")
    ] = False,
    totals_only: Annotated[
        bool,
        typer.Option(
            "--totals-only", help="Show only the totals that the Hub reports; read no model."
        ),
    ] = False,
    format_: Annotated[
        str | None, options.format_option(OF_ROWS, " Default: table on a terminal, else jsonl.")
    ] = None,
    output: options.RowsOutput = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated columns (docs/scan.md lists them). Audit columns turn on --audit."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue after the rows that the file already has.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Begin again: delete the rows that the file has.")
    ] = False,
    refresh: Annotated[
        bool,
        typer.Option(
            "--refresh", help="Like --resume, but repeat failed rows and changed revisions."
        ),
    ] = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="Add columns with audit findings.")
    ] = False,
    memory: RowMemory,
    reading: FromSource,
    jobs: Annotated[
        int,
        typer.Option("--jobs", "-j", help="Number of models to read in parallel.", min=1, max=256),
    ] = 16,
    shard: Annotated[
        str | None, typer.Option(metavar="K/N", help="Scan only part K of N of the list.")
    ] = None,
    part_rows: Annotated[
        int | None,
        typer.Option(
            help="Number of rows of each part in a folder. Default: 10,000, on a cluster 1,000.",
            min=100,
            max=1_000_000,
            show_default=False,
        ),
    ] = None,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Stop at the first failure.")
    ] = False,
    max_failures: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many failures.")
    ] = None,
    no_cache: options.NoCache = False,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS|local", help="Run on a Dask cluster.")
    ] = None,
    quiet: options.Quiet = False,
    login: LoginOptions,
) -> None:
    """Scan many models, one row each. Exit code 1 if any failed."""
    from ..scanning.engine import ScanOptions, close_shared, memory_request_of
    from ..scanning.rows import SORTABLE
    from ..scanning.targets import shard_numbers
    from . import cache_directory
    from .listing import HubQuery
    from .scan_plan import FolderOutput, ScanPlan
    from .scan_run import execute

    into_folder = output is not None and (
        output.endswith(("/", os.sep)) or os.path.isdir(output)  # noqa: PTH112 - False where nobody may look
    )
    path = None if output is None else Path(output)
    plan = ScanPlan(
        format_=format_ or ("parquet" if into_folder else _usual_format(path)),
        output=path,
        resume=resume or refresh,
        refresh=refresh,
        overwrite=overwrite,
        jobs=jobs,
        quiet=quiet,
        most_failures=1 if fail_fast else max_failures,
        dask=dask,
        # Outputs of the parts in a row are the output of the whole, which has one header.
        header=shard is None or shard.startswith("1/"),
        folder=FolderOutput(part_rows, (1, 1) if shard is None else shard_numbers(shard))
        if into_folder
        else None,
    )
    plan.check(OF_ROWS)
    _check_apart(targets, path)
    checked("source", reading.source, SOURCES)
    cache_dir = None if no_cache else cache_directory.directory()
    scan_options = ScanOptions(**arguments_of(reading, login), cache_dir=cache_dir)
    request = memory_request_of(memory)
    by_column = sort is not None and sort in SORTABLE
    if sort is not None and not by_column and targets is not None:
        raise _no_order_of_rows(sort)
    query = HubQuery(author, search, tuple(filter_ or ()), None if by_column else sort)
    if by_column and into_folder:
        raise UsageError(
            f"--sort {sort}",
            "is not for a folder, whose rows are in the order of the list: so a scan can go on",
            hint="sort the rows where you read them (ORDER BY), or write one file",
        )
    if by_column and plan.resume:
        raise UsageError("--resume", f"does not go with --sort {sort}: rows are in another order")
    if query and targets is not None:
        raise UsageError(
            targets, "is a list, but Hub options were given too", expected="one of them"
        )
    if totals_only:
        if recursive:
            raise UsageError("--totals-only", "is about models of the Hub", expected="a list")
        job = _reported(
            query, scan_options, targets, limit, columns, audit or request is not None, refresh
        )
    else:
        job = _inspected(
            query, scan_options, targets, recursive, limit, columns, audit, refresh, request
        )
    if by_column:
        if sort not in job.types:
            raise UsageError(
                f"sort {sort}",
                "is not among the columns of the rows",
                expected="--columns with it; --on for those of memory",
            )
        job = replace(job, sort=sort, pinned=(*job.pinned, str(sort)))
    if totals_only:
        plan.say("the parameters are the Hub's own report, not counted by hfinspect")
    if shard is not None and not into_folder:
        from ..scanning.targets import part

        items = part(list(job.items), shard)
        job = replace(job, items=items, total=len(items))
    if login.token is not None and dask is not None:
        _give_token(str(login.token), dask, plan)
    failed = execute(plan, job)
    close_shared()
    if failed:
        raise typer.Exit(1)


def _check_apart(targets: str | None, output: Path | None) -> None:
    """Raises UsageError for an output that would be written over the list."""
    if targets is None or output is None:
        return
    try:
        is_the_list = output.is_file() and output.samefile(targets)
    except OSError:  # a list that is not there is refused where it is read
        return
    if is_the_list:
        raise UsageError(str(output), "is the list itself", expected="another file for the rows")


def _no_order_of_rows(sort: str) -> UsageError:
    """Of a list that the user gave, not the Hub: rows are sorted by a column."""
    from ..scanning.rows import SORTABLE, nearest_columns
    from ..sources.hub.search import SORTS

    if sort.lower() in {name.lower() for name in SORTS}:
        return UsageError(
            f"sort {sort!r}",
            "sorts only the Hub's own list",
            expected="--author, --search or --filter in place of a list",
        )
    near = nearest_columns(sort, sorted(SORTABLE))
    return UsageError(
        f"sort {sort!r}",
        "is not a column of the rows",
        expected=None if near else "a column, as parameters",
        hint=f"did you mean {listed(near)}?" if near else None,
    )


def _give_token(token: str, dask: str, plan: ScanPlan) -> None:
    """No task carries a token, for schedulers keep and show their tasks: workers of this machine
    inherit it, others have their own."""
    if dask == "local":
        os.environ["HF_TOKEN"] = token
    else:
        plan.say("--token stays on this machine: the workers use their own HF_TOKEN or saved token")


def _usual_format(output: Path | None) -> str:
    """Lines of JSON for a file or a pipe, a table for people."""
    to_terminal = output is None and sys.stdout is not None and sys.stdout.isatty()
    return "table" if to_terminal else "jsonl"


def _reported(
    query: HubQuery,
    scan_options: ScanOptions,
    text: str | None,
    limit: int | None,
    columns: str | None,
    audit: bool,
    refresh: bool,
) -> Job:
    """What the Hub says of its models itself: one request a page of its list, or one a name."""
    from functools import partial

    from ..scanning.row_work import Reported
    from ..scanning.rows import chosen_columns
    from .listing import hub_targets, named_targets
    from .scan_plan import Job

    if audit:
        raise UsageError("--totals-only", "has its own columns, without audit and memory")
    chosen = chosen_columns(columns, totals=True)
    work = Reported(scan_options, chosen, refresh)
    pinned = (*chosen, *_named(columns))
    if not query:
        targets = named_targets(text, False, limit)
        total = sum(1 for _ in targets)
        return Job(targets, total, work, chosen, pinned=pinned, options=scan_options)
    list_from = partial(hub_targets, scan_options, query, limit, work.expand)
    return Job(list_from(), limit, work, chosen, query, list_from, pinned, options=scan_options)


def _named(columns: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (columns or "").split(","))


def _inspected(
    query: HubQuery,
    scan_options: ScanOptions,
    text: str | None,
    recursive: bool,
    limit: int | None,
    columns: str | None,
    audit: bool,
    refresh: bool,
    request: MemoryRequest | None,
) -> Job:
    """An inspection of every target."""
    from functools import partial

    from ..scanning.row_work import RowWork
    from ..scanning.rows import AUDIT_COLUMNS, MEMORY_COLUMNS, chosen_columns
    from ..sources.hub.search import INFO
    from .listing import hub_targets, named_targets
    from .scan_plan import Job

    chosen = chosen_columns(columns)
    if audit and not any(name in AUDIT_COLUMNS for name in chosen):
        chosen += tuple(AUDIT_COLUMNS)
    audits = tuple(name for name in chosen if name in AUDIT_COLUMNS)
    of_memory = tuple(name for name in chosen if name in MEMORY_COLUMNS)
    if request is not None and not of_memory:
        chosen += tuple(MEMORY_COLUMNS)
        of_memory = _SHOWN if request.device is not None else _SIZES
    if request is None and of_memory:
        raise UsageError(
            f"column {of_memory[0]}", "is a memory column", expected="--on or --context"
        )
    work = RowWork(scan_options, chosen, bool(audits), refresh, request)
    pinned = (*audits, *of_memory, *_named(columns))
    if query:
        expand = ("sha", "siblings", "private", *INFO)
        list_from = partial(hub_targets, scan_options, query, limit, expand)
        return Job(
            list_from(),
            limit,
            work,
            chosen,
            query,
            list_from,
            pinned,
            options=scan_options,
            memory_request=request,
        )
    targets = named_targets(text, recursive, limit)
    total = sum(1 for _ in targets)  # a list that is none is refused before anything is asked
    return Job(
        targets, total, work, chosen, pinned=pinned, options=scan_options, memory_request=request
    )
