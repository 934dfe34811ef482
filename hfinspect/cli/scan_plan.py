"""What a scan is to do, what it has done so far, and its rows with progress next to them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Final, NamedTuple

from ..core.choices import listed
from ..errors import UsageError
from ..reports.registry import OF_LATER_ROWS, ROW_DOCUMENTS
from ..scanning import parquet
from ..scanning import row_work as session
from ..scanning.engine import client_of
from ..scanning.journal import MAX_LINE
from ..scanning.row_work import Item
from ..scanning.rows import ScanRow, sorted_by, types_of
from .output import checked_format
from .progress_line import ScanProgress

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..scanning.engine import ScanOptions
    from ..sizing.memory_request import MemoryRequest
    from ..sources.hub.search import ListPlace
    from ..sources.hub.throttle import QuotaUse
    from .listing import HubQuery


#: How the first line of an output begins: a row, or the header of a table.
_FIRST_OF_ROWS: Final = (b'{"target"', b"target,")


class FolderOutput(NamedTuple):
    """An output of parts: rows of each, if that was said, and which shard of how many this is."""

    part_rows: int | None
    shard: tuple[int, int]


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
    overwrite: bool = False
    folder: FolderOutput | None = None

    def check(self, formats: Sequence[str]) -> None:
        """Raises UsageError for what cannot be done, before anything is asked or written."""
        checked_format(self.format_, tuple(formats))
        if self.format_ == "parquet":
            if self.output is None:
                raise UsageError("format parquet", "needs a file", expected="--output FILE")
            parquet.require()
        if self.folder is not None and self.format_ != "parquet":
            raise UsageError(
                f"format {self.format_}", "needs a file", expected="parquet for a folder"
            )
        if self.resume and self.overwrite:
            raise UsageError("--overwrite", "cannot be combined with --resume or --refresh")
        if self.resume and (self.output is None or self.format_ in ROW_DOCUMENTS):
            raise UsageError(
                "--resume",
                "needs a file of rows",
                expected=f"--output FILE, {listed(OF_LATER_ROWS)}",
            )

    def check_output(self) -> None:
        """Raises UsageError for an output with rows that this run would delete."""
        if self.output is None or self.resume or self.overwrite or is_stream(self.output):
            return
        if self.format_ in ROW_DOCUMENTS or self.folder is not None:
            return
        for path in (self.output, rows_of_parquet(self.output)):
            rows = _rows_in(path, header=self.format_ == "csv" and self.header)
            if rows:
                raise UsageError(
                    str(self.output),
                    rows,
                    hint="--resume goes on after its last row, --overwrite begins again",
                )

    def say(self, text: str) -> None:
        """A remark on stderr."""
        if not self.quiet:
            sys.stderr.write(text + "\n")


@dataclass(frozen=True)
class Job:
    """What is scanned. ``total`` is None where the number is not known; ``query`` says that the
    items are the Hub's list, whose order changes between two runs, and ``list_from`` begins it at a
    place; ``pinned`` are the columns that the user named, which a table never leaves out; ``sort``
    is the column that rows are sorted by when all are there."""

    items: Iterable[Item]
    total: int | None
    work: Callable[[Item], ScanRow]
    columns: tuple[str, ...]
    query: HubQuery | None = None
    list_from: Callable[[ListPlace], Iterable[Item]] | None = None
    pinned: tuple[str, ...] = ()
    sort: str | None = None
    options: ScanOptions | None = None
    memory_request: MemoryRequest | None = None

    @property
    def types(self) -> dict[str, str]:
        return types_of(self.columns)


@dataclass
class Tally:
    """Failures, and whether they are as many as the user will have."""

    most: int | None
    failures: int = 0
    before: int = 0  # in rows of earlier runs
    rows: int = 0  # in the output, those of earlier runs too

    @property
    def enough(self) -> bool:
        return self.most is not None and self.failures >= self.most

    @property
    def any_failed(self) -> bool:
        return self.failures + self.before > 0


def rows_of_parquet(path: Path) -> Path:
    """Where the rows of a Parquet file are while it is not finished."""
    return path.with_name(f"{path.name}.rows.jsonl")


def _rows_in(path: Path, *, header: bool) -> str:
    """What a file holds that a new run would delete; empty if it is not there or holds no row."""
    try:
        if not path.is_file() or not path.stat().st_size:
            return ""
        with path.open("rb") as stream:
            first = stream.readline(MAX_LINE)
            if first.startswith(b"PAR1"):
                return "is the output of an earlier scan"
            if not first.startswith(_FIRST_OF_ROWS):
                return "is not the output of a scan"
            lines = 1 + sum(1 for _ in stream)
    except OSError:  # writing says so
        return ""
    rows = lines - header
    return f"has {rows:,} row{'' if rows == 1 else 's'}" if rows > 0 else ""


def is_stream(path: Path) -> bool:
    """Whether it is a pipe or a device, where rows can only be appended."""
    try:
        mode = path.stat().st_mode
    except OSError:  # not there, or where nobody may look: that is said when it is written
        return False
    return not (S_ISREG(mode) or S_ISDIR(mode))


def followed(
    plan: ScanPlan,
    job: Job,
    executor: Executor | None,
    tally: Tally,
    on_finished: Callable[[Item, ScanRow, bool], None] | None = None,
) -> Iterator[ScanRow]:
    """Rows in order, with progress next to them; ends after too many failures."""
    progress = ScanProgress(
        job.total, quiet=plan.quiet, quotas=_quotas_of(job), has_token=_has_token(job)
    )

    def on_row(item: Item, row: ScanRow, out_of_order: bool) -> None:
        progress.add(row)
        if on_finished is not None:
            on_finished(item, row, out_of_order)

    session_rows = session.rows(
        job.items, job.work, job.columns, jobs=plan.jobs, executor=executor, on_row=on_row
    )
    rows = _counted(session_rows, tally)
    try:
        yield from rows if job.sort is None else sorted_by([*rows], job.sort)
    finally:
        progress.finish()


def _quotas_of(job: Job) -> Callable[[], Sequence[QuotaUse]]:
    """The Hub's quotas as this process has used them; a cluster's workers have their own."""

    def quotas() -> Sequence[QuotaUse]:
        client = None if job.options is None else client_of(job.options)
        return () if client is None else client.throttle.quotas()

    return quotas


def _has_token(job: Job) -> Callable[[], bool]:
    def has_token() -> bool:
        client = None if job.options is None else client_of(job.options)
        return client is not None and client.reader() is not None

    return has_token


def _counted(rows: Iterable[ScanRow], tally: Tally) -> Iterator[ScanRow]:
    for row in rows:
        tally.failures += session.failed(row)
        yield row
        if tally.enough:
            return
