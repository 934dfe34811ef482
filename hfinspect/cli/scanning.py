"""What ``hfinspect scan`` does between its options and the library."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..scanning import journal, parquet, session, targets
from ..scanning.rows import Row, types_of
from .output import checked_format
from .progress import Progress

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..scanning.engine import ScanOptions
    from ..sources.hub_models import ListedModel


@dataclass(frozen=True)
class Plan:
    """How a scan runs and where its rows go."""

    format_: str
    output: Path | None
    resume: bool
    refresh: bool
    jobs: int
    quiet: bool
    most_failures: int | None
    dask: str | None
    shard: str | None

    def check(self, formats: Sequence[str]) -> None:
        """Raises UsageError for what cannot be done, before anything is asked or written."""
        checked_format(self.format_, tuple(formats))
        if self.format_ == "parquet":
            parquet.require()
            if self.output is None:
                raise UsageError("format parquet", "needs a file", expected="--output FILE")
        if self.resume and (self.output is None or self.format_ in ("table", "markdown")):
            raise UsageError(
                "--resume", "needs a file of rows", expected="--output FILE, jsonl, csv or parquet"
            )


def named(text: str | None, recursive: bool) -> list[str]:
    """The targets of a list file, of standard input, or below a directory."""
    if text is None:
        raise UsageError(
            "scan", "was given no list", expected="a file, - for stdin, --author or --filter"
        )
    if text == "-":
        return list(targets.from_lines(sys.stdin, "standard input"))
    path = Path(text).expanduser()
    if recursive:
        return list(targets.below(path))
    if path.is_dir():
        raise UsageError(
            text, "is a directory", expected="a text file",
            hint="--recursive scans every checkpoint below it",
        )  # fmt: skip
    return targets.from_file(path)


def listed(
    options: ScanOptions,
    author: str | None,
    search: str | None,
    filters: tuple[str, ...],
    sort: str | None,
    limit: int | None,
) -> list[ListedModel]:
    """The Hub's own list, one request a page."""
    from ..scanning.engine import shared
    from ..sources.hub_models import list_models

    client, _ = shared(options)
    return list(
        list_models(client, author=author, search=search, filters=filters, sort=sort, limit=limit)
    )


def execute(
    plan: Plan, names: Sequence[str], work: Callable[[str], Row], columns: Sequence[str]
) -> bool:
    """Run the scan and write its rows; whether any target failed."""
    first = True
    if plan.shard is not None:
        names, part = targets.shard(names, plan.shard)
        first = part == 1
    with _executor(plan) as executor:
        if plan.format_ in ("table", "markdown"):
            return _as_document(plan, names, work, columns, executor)
        if plan.output is None:
            return _to_stdout(plan, names, work, columns, executor, header=first)
        if plan.format_ == "parquet":
            return _to_parquet(plan, plan.output, names, work, columns, executor)
        return _to_file(plan, plan.output, names, work, columns, executor, header=first)


def _followed(
    plan: Plan, names: Sequence[str], work: Callable[[str], Row], columns: Sequence[str],
    executor: Executor | None,
) -> Iterator[Row]:  # fmt: skip
    """Rows with progress beside them; ends after too many failures."""
    progress = Progress(len(names), quiet=plan.quiet)
    failures = 0
    found = session.rows(
        names, work, columns, jobs=plan.jobs, executor=executor, on_row=progress.add
    )
    try:
        for row in found:
            yield row
            failures += session.failed(row)
            if plan.most_failures is not None and failures >= plan.most_failures:
                return
    finally:
        progress.finish()


def _as_document(
    plan: Plan, names: Sequence[str], work: Callable[[str], Row], columns: Sequence[str],
    executor: Executor | None,
) -> bool:  # fmt: skip
    from ..reports.scan import lay_out
    from .output import emit

    rows = list(_followed(plan, names, work, columns, executor))
    emit(plan.format_, lambda: lay_out(rows, types_of(columns)), dict, plan.output)
    return any(session.failed(row) for row in rows)


def _to_stdout(
    plan: Plan, names: Sequence[str], work: Callable[[str], Row], columns: Sequence[str],
    executor: Executor | None, *, header: bool,
) -> bool:  # fmt: skip
    lines = journal.FORMATS[plan.format_]
    head = lines.header(tuple(types_of(columns)))
    any_failed = False
    if header and head is not None:
        sys.stdout.write(head + "\n")
    for row in _followed(plan, names, work, columns, executor):
        sys.stdout.write(lines.line(row) + "\n")
        sys.stdout.flush()
        any_failed |= session.failed(row)
    return any_failed


def _to_file(
    plan: Plan, path: Path, names: Sequence[str], work: Callable[[str], Row],
    columns: Sequence[str], executor: Executor | None, *, header: bool, lines: str | None = None,
) -> bool:  # fmt: skip
    """Append rows to ``path``; with --refresh write a new file that replaces it in the end."""
    lines_of = journal.FORMATS[lines or plan.format_]
    target = path
    if plan.refresh:
        if (lines or plan.format_) != "jsonl":
            raise UsageError("--refresh", "reads rows back", expected="--format jsonl or parquet")
        old = {str(row["target"]): row for row in journal.read_rows(path)} if path.exists() else {}
        assert isinstance(work, session.RowWork)
        work, target = session.Refresh(work, old), path.with_name(f".{path.name}.new")
    any_failed = False
    everything = tuple(types_of(columns))
    with journal.Journal(target, lines_of, everything, header=header) as rows:
        there = rows.open(resume=plan.resume and not plan.refresh)
        left = journal.left_to_do(names, there, path)
        if there and not plan.quiet:
            sys.stderr.write(f"{len(there):,} rows are there, {len(left):,} to go\n")
        for row in _followed(plan, left, work, columns, executor):
            rows.write(row)
            any_failed |= session.failed(row)
    if plan.refresh:
        target.replace(path)
    return any_failed


def _to_parquet(
    plan: Plan, path: Path, names: Sequence[str], work: Callable[[str], Row],
    columns: Sequence[str], executor: Executor | None,
) -> bool:  # fmt: skip
    """Rows go to a journal beside the file, which becomes Parquet when all are there."""
    beside = path.with_name(f"{path.name}.rows.jsonl")
    any_failed = _to_file(
        replace(plan, format_="jsonl"), beside, names, work, columns, executor, header=True
    )
    parquet.convert(beside, path, types_of(columns))
    beside.unlink()
    return any_failed


@contextmanager
def _executor(plan: Plan) -> Iterator[Executor | None]:
    """The Dask cluster's executor, or None for threads of this process."""
    if plan.dask is None:
        yield None
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise UsageError("--dask", "needs Dask", hint="pip install 'hfinspect[dask]'") from None
    local: Any = None
    if plan.dask == "local":
        local = LocalCluster(
            n_workers=min(os.cpu_count() or 1, 8), threads_per_worker=8, dashboard_address=None
        )
    try:
        client = Client(local or plan.dask, timeout=10)
    except (OSError, ValueError) as error:
        raise UsageError("--dask", f"no scheduler at {plan.dask} ({error})") from None
    try:
        yield client.get_executor(retries=3, pure=False)
    finally:
        client.close()
        if local is not None:
            local.close()
