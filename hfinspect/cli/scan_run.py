"""What ``hfinspect scan`` does between its options and the library: rows into a file or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, TextIO, TypeAlias

from ..errors import UnreadableError, UsageError
from ..scanning import parquet
from ..scanning import row_work as session
from ..scanning.journal import Journal
from ..scanning.lines import FORMATS
from ..scanning.lock import OutputLock
from ..scanning.resume import Early, left_to_do, not_there, with_rows
from ..scanning.row_work import Item
from ..scanning.rows import Row, sorted_by, types_of
from ..sources.descriptors import at_once, limit
from .dask import executor_of
from .output import checked_format
from .progress_line import Progress
from .streams import standard_output

if TYPE_CHECKING:
    from concurrent.futures import Executor


@dataclass(frozen=True)
class ScanPlan:
    """How a scan runs and where its rows go."""

    format_: str
    output: Path | None
    resume: bool
    refresh: bool
    jobs: int
    quiet: bool
    most_failures: int | None
    dask: str | None
    header: bool = True

    def check(self, formats: Sequence[str]) -> None:
        """Raises UsageError for what cannot be done, before anything is asked or written."""
        checked_format(self.format_, tuple(formats))
        if self.format_ == "parquet":
            if self.output is None:
                raise UsageError("format parquet", "needs a file", expected="--output FILE")
            parquet.require()
        if self.resume and (self.output is None or self.format_ in ("table", "markdown")):
            raise UsageError(
                "--resume", "needs a file of rows", expected="--output FILE, jsonl, csv or parquet"
            )

    def say(self, text: str) -> None:
        """A remark on stderr."""
        if not self.quiet:
            sys.stderr.write(text + "\n")


@dataclass(frozen=True)
class Job:
    """What is scanned. ``total`` is None where the number is not known; ``listed`` says that the
    items are the Hub's list, whose order changes between two runs; ``named`` are the columns that
    the user named, which a table never leaves out; ``sort`` is the column that rows are sorted by
    when all are there."""

    items: Iterable[Item]
    total: int | None
    work: Callable[[Item], Row]
    columns: tuple[str, ...]
    listed: bool = False
    named: tuple[str, ...] = ()
    sort: str | None = None

    @property
    def types(self) -> dict[str, str]:
        return types_of(self.columns)


@dataclass
class Tally:
    """Failures, and whether they are as many as the user will have."""

    most: int | None
    failures: int = 0
    before: int = 0  # in rows of earlier runs

    @property
    def enough(self) -> bool:
        return self.most is not None and self.failures >= self.most

    @property
    def any_failed(self) -> bool:
        return self.failures + self.before > 0


def execute(plan: ScanPlan, job: Job) -> bool:
    """Run the scan and write its rows; whether any target failed."""
    tally = Tally(plan.most_failures)
    plan = _with_fewer_jobs(plan)
    with _locked(plan), executor_of(plan.dask) as executor:
        if plan.format_ in ("table", "markdown"):
            _as_document(plan, job, executor, tally)
        elif plan.output is None:
            _to_stream(plan, job, executor, tally, standard_output)
        elif _is_stream(plan.output):
            with _opened(plan.output) as written:
                _to_stream(plan, job, executor, tally, written)
        elif plan.format_ == "parquet":
            _to_parquet(plan, plan.output, job, executor, tally)
        elif plan.refresh:
            _refreshed(plan, plan.output, job, executor, tally)
        else:
            _to_file(plan, plan.output, job, executor, tally)
    if tally.enough:
        plan.say(f"stopped after {tally.failures:,} failed")
    return tally.any_failed


def _with_fewer_jobs(plan: ScanPlan) -> ScanPlan:
    """The plan with as many targets at once as this process may have files open for."""
    jobs = at_once(plan.jobs)
    if plan.dask is not None or jobs == plan.jobs:
        return plan
    plan.say(f"only {limit()} files may be open (ulimit -n): {jobs} at once, not {plan.jobs}")
    return replace(plan, jobs=jobs)


def _locked(plan: ScanPlan) -> AbstractContextManager[object]:
    """Nobody else writes the output meanwhile. Raises UsageError if somebody does."""
    if plan.output is None or _is_stream(plan.output):
        return nullcontext()
    return OutputLock(plan.output)


def _is_stream(path: Path) -> bool:
    """Whether it is a pipe or a device, where rows can only be appended."""
    try:
        mode = path.stat().st_mode
    except OSError:  # not there, or where nobody may look: that is said when it is written
        return False
    return not (S_ISREG(mode) or S_ISDIR(mode))


Written: TypeAlias = "Callable[[], AbstractContextManager[TextIO]]"


@contextmanager
def _opened(path: Path) -> Iterator[Written]:
    """A stream by its path, and what is written to it: its errors in our words."""

    @contextmanager
    def written() -> Iterator[TextIO]:
        try:
            yield stream
        except BrokenPipeError:
            raise
        except OSError as error:
            raise UnreadableError(str(path), f"cannot be written: {error.strerror}") from None

    try:
        stream = path.open("w", encoding="utf-8")
    except OSError as error:
        raise UnreadableError(str(path), f"cannot be written: {error.strerror}") from None
    try:
        yield written
    finally:
        with suppress(OSError):  # what could not be written was said
            stream.close()


def _followed(
    plan: ScanPlan, job: Job, executor: Executor | None, tally: Tally,
    on_early: Callable[[Item, Row], None] | None = None,
) -> Iterator[Row]:  # fmt: skip
    """Rows in order, with progress next to them; ends after too many failures."""
    progress = Progress(job.total, quiet=plan.quiet)

    def on_row(item: Item, row: Row, early: bool) -> None:
        progress.add(row)
        if early and on_early is not None:
            on_early(item, row)

    found = session.rows(
        job.items, job.work, job.columns, jobs=plan.jobs, executor=executor, on_row=on_row
    )
    rows = _counted(found, tally)
    try:
        yield from rows if job.sort is None else sorted_by([*rows], job.sort)
    finally:
        progress.finish()


def _counted(found: Iterable[Row], tally: Tally) -> Iterator[Row]:
    for row in found:
        tally.failures += session.failed(row)
        yield row
        if tally.enough:
            return


def _as_document(plan: ScanPlan, job: Job, executor: Executor | None, tally: Tally) -> None:
    from ..reports.rows_table import lay_out
    from .output import emit

    rows: list[Row] = []
    try:
        rows.extend(_followed(plan, job, executor, tally))
    finally:  # a scan that is interrupted shows the rows that it has
        emit(plan.format_, lambda: lay_out(rows, job.types, job.named), dict, plan.output)


def _to_stream(
    plan: ScanPlan, job: Job, executor: Executor | None, tally: Tally, written: Written
) -> None:
    """Rows as they come. Raises UnreadableError where the stream takes no more."""
    lines = FORMATS[plan.format_]
    head = lines.header(tuple(job.types))
    if plan.header and head is not None:
        with written() as out:
            out.write(head + "\n")
            out.flush()
    for row in _followed(plan, job, executor, tally):
        with written() as out:
            out.write(lines.line(row) + "\n")
            out.flush()


def _to_file(plan: ScanPlan, path: Path, job: Job, executor: Executor | None, tally: Tally) -> None:
    """Append rows to ``path``."""
    columns = tuple(job.types)
    journal = Journal(path, FORMATS[plan.format_], columns, header=plan.header)
    with journal, Early(path, columns) as early:
        there = journal.open(resume=plan.resume)
        tally.before = sum(not kept.ok for kept in there)
        left = not_there(job.items, there) if job.listed else left_to_do(job.items, there, path)
        items = with_rows(left, early.open(resume=plan.resume))
        total = None if job.total is None else max(job.total - len(there), 0)
        if there:
            plan.say(f"{len(there):,} rows are there" + (f", {total:,} to go" if total else ""))
        rest = replace(job, items=items, total=total)
        for row in _followed(plan, rest, executor, tally, early.write):
            journal.write(row)
        if not tally.enough:
            early.finish()


def _refreshed(
    plan: ScanPlan, path: Path, job: Job, executor: Executor | None, tally: Tally
) -> None:
    """A new file, with the old one's rows where they hold, that replaces it in the end."""
    columns = tuple(job.types)
    known: dict[str, Row] = {}
    if path.exists():
        with Journal(path, FORMATS[plan.format_], columns, header=plan.header) as old:
            old.open(resume=True)
            known = {str(row["target"]): row for row in old.rows()}
    unfinished = path.with_name(f".{path.name}.new")
    with Journal(unfinished, FORMATS[plan.format_], columns, header=plan.header) as journal:
        journal.open(resume=False)
        rest = replace(job, items=with_rows(job.items, known))
        for row in _followed(plan, rest, executor, tally):
            journal.write(row)
    if not tally.enough:
        unfinished.replace(path)


def _to_parquet(
    plan: ScanPlan, path: Path, job: Job, executor: Executor | None, tally: Tally
) -> None:
    """Rows go to a journal next to the file, which becomes Parquet when all are there."""
    beside = path.with_name(f"{path.name}.rows.jsonl")
    plan = replace(plan, format_="jsonl")
    if plan.resume and path.exists() and not beside.exists():
        parquet.restore(path, beside, job.types)
    write = _refreshed if plan.refresh else _to_file
    write(plan, beside, job, executor, tally)
    if not tally.enough:
        parquet.convert(beside, path, job.types)
        beside.unlink()
