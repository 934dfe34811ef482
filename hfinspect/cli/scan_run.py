"""What ``hfinspect scan`` does between its options and the library: rows into a file or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO, TypeAlias

from ..core.choices import listed
from ..errors import UnreadableError, UsageError
from ..reports.registry import OF_LATER_ROWS, ROW_DOCUMENTS
from ..scanning import parquet
from ..scanning import row_work as session
from ..scanning.dataset import Dataset
from ..scanning.engine import client_of
from ..scanning.journal import MAX_LINE, Journal
from ..scanning.lines import FORMATS
from ..scanning.lock import OutputLock
from ..scanning.resume import Early, left_to_do, not_there, with_rows
from ..scanning.row_work import Item
from ..scanning.rows import Row, sorted_by, types_of
from ..scanning.targets import falls_to
from ..sources.descriptors import at_once, limit
from . import interrupt
from .dask import executor_of
from .output import checked_format
from .progress_line import Progress
from .streams import standard_output

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..reports.document import Document
    from ..scanning.engine import ScanOptions
    from ..sizing.memory_request import MemoryRequest
    from ..sources.hub.search import ListPlace
    from ..sources.hub.throttle import QuotaUse
    from .listing import HubQuery


#: How the first line of an output begins: a row, or the header of a table.
_FIRST_OF_ROWS: Final = (b'{"target"', b"target,")


class FolderOutput(NamedTuple):
    """An output of parts: rows of each, and which shard of how many this is."""

    part_rows: int
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
        if self.folder is not None and self.refresh:
            raise UsageError("--refresh", "needs a file of rows", expected="--output FILE")
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
        if self.output is None or self.resume or self.overwrite or _is_stream(self.output):
            return
        if self.format_ in ROW_DOCUMENTS or self.folder is not None:
            return
        for path in (self.output, _rows_of_parquet(self.output)):
            found = _rows_in(path, header=self.format_ == "csv" and self.header)
            if found:
                raise UsageError(
                    str(self.output),
                    found,
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
    place; ``named`` are the columns that the user named, which a table never leaves out; ``sort``
    is the column that rows are sorted by when all are there."""

    items: Iterable[Item]
    total: int | None
    work: Callable[[Item], Row]
    columns: tuple[str, ...]
    query: HubQuery | None = None
    list_from: Callable[[ListPlace], Iterable[Item]] | None = None
    named: tuple[str, ...] = ()
    sort: str | None = None
    options: ScanOptions | None = None
    wish: MemoryRequest | None = None

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


def execute(plan: ScanPlan, job: Job) -> bool:
    """Run the scan and write its rows; whether any target failed."""
    tally = Tally(plan.most_failures)
    plan = _with_fewer_jobs(plan)
    with _locked(plan), _interruptible(plan, tally), executor_of(plan.dask) as executor:
        plan.check_output()
        if plan.format_ in ROW_DOCUMENTS:
            _as_document(plan, job, executor, tally)
        elif plan.output is None:
            _to_stream(plan, job, executor, tally, standard_output)
        elif plan.folder is not None:
            _to_folder(plan, plan.output, job, executor, tally)
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
    if plan.output is None or plan.folder is not None or _is_stream(plan.output):
        return nullcontext()
    return OutputLock(plan.output)


@contextmanager
def _interruptible(plan: ScanPlan, tally: Tally) -> Iterator[None]:
    """Ctrl-C says how many rows there are, and how to go on."""

    def more() -> str:
        if plan.output is None or _is_stream(plan.output) or plan.format_ in ROW_DOCUMENTS:
            return ""
        rows = f"{tally.rows:,} row{'' if tally.rows == 1 else 's'}"
        if plan.refresh:
            return f"{plan.output} is as it was; the same command begins the refresh again"
        return f"{plan.output} has {rows}; the same command with --resume goes on"

    interrupt.MORE.append(more)
    try:
        yield
    finally:
        if sys.exc_info()[0] is not KeyboardInterrupt:
            interrupt.MORE.remove(more)


def _rows_of_parquet(path: Path) -> Path:
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
    plan: ScanPlan,
    job: Job,
    executor: Executor | None,
    tally: Tally,
    on_finished: Callable[[Item, Row, bool], None] | None = None,
) -> Iterator[Row]:
    """Rows in order, with progress next to them; ends after too many failures."""
    progress = Progress(
        job.total, quiet=plan.quiet, quotas=_quotas_of(job), has_token=_has_token(job)
    )

    def on_row(item: Item, row: Row, early: bool) -> None:
        progress.add(row)
        if on_finished is not None:
            on_finished(item, row, early)

    found = session.rows(
        job.items, job.work, job.columns, jobs=plan.jobs, executor=executor, on_row=on_row
    )
    rows = _counted(found, tally)
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
    laid_out = (
        _page if plan.format_ == "html" else lambda rows, job: lay_out(rows, job.types, job.named)
    )
    try:
        rows.extend(_followed(plan, job, executor, tally))
    finally:  # a scan that is interrupted shows the rows that it has
        emit(plan.format_, lambda: laid_out(rows, job), dict, plan.output, ROW_DOCUMENTS)


def _page(rows: list[Row], job: Job) -> Document:
    from ..reports.rows_page import Sized, lay_out
    from ..scanning.rows import meanings
    from ..sizing.cards import cards
    from ..sizing.curves import LINES

    sized = None
    if job.wish is not None:
        device = job.wish.device
        count = "" if device is None or device.count == 1 else f"{device.count} × "
        name = "" if device is None else f"{count}{device.name}"
        # Of several devices a row has what one holds: no sum for a card alone.
        usual = [] if count else [card for count, card in LINES if count == 1]
        sizes = {name: card.nbytes for name, card in cards().items()}
        sized = Sized(name, sizes, tuple(usual))
    return lay_out(rows, job.types, meanings(), job.named, sized)


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
        tally.before, tally.rows = sum(not kept.ok for kept in there), len(there)
        left = not_there(job.items, there) if job.query else left_to_do(job.items, there, path)
        items = with_rows(left, early.open(resume=plan.resume))
        total = None if job.total is None else max(job.total - len(there), 0)
        if there:
            plan.say(f"{path} has {len(there):,} rows" + (f", {total:,} to go" if total else ""))
        rest = replace(job, items=items, total=total)
        for row in _followed(plan, rest, executor, tally, early.write):
            journal.write(row)
            tally.rows += 1
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
    beside = _rows_of_parquet(path)
    plan = replace(plan, format_="jsonl")
    if plan.resume and path.exists() and not beside.exists():
        parquet.restore(path, beside, job.types)
    write = _refreshed if plan.refresh else _to_file
    write(plan, beside, job, executor, tally)
    if not tally.enough:
        parquet.convert(beside, path, job.types)
        beside.unlink()


def _to_folder(
    plan: ScanPlan, path: Path, job: Job, executor: Executor | None, tally: Tally
) -> None:
    """Rows to parts of Parquet, from the first part on that is not whole."""
    folder = plan.folder
    assert folder is not None
    k, n = folder.shard
    query = {} if job.query is None else {**asdict(job.query), "filters": [*job.query.filters]}
    with Dataset(path, job.types, query, shard=folder.shard, part_rows=folder.part_rows) as dataset:
        dataset.begin(resume=plan.resume, overwrite=plan.overwrite)
        tally.rows = dataset.manifest.rows + dataset.rows_of_journals()
        items = job.items if job.list_from is None else job.list_from(dataset.place)
        own = (item for item in items if n == 1 or falls_to(item.target, k, n))
        total = job.total if n == 1 else None
        if job.list_from is None:
            dataset.check(own)
            if n > 1:
                total = sum(falls_to(item.target, k, n) for item in job.items)
        left = None if total is None else max(total - tally.rows, 0)
        if tally.rows:
            plan.say(f"{path} has {tally.rows:,} rows" + (f", {left:,} to go" if left else ""))
        rest = replace(job, items=dataset.left(own), total=left)
        for _ in _followed(plan, rest, executor, tally, dataset.add):
            tally.rows = dataset.rows
        if not tally.enough:
            dataset.finish()
        tally.before = dataset.manifest.failures
