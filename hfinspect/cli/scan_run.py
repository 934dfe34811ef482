"""What ``hfinspect scan`` does between its options and the library: rows into a file or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeAlias

from ..core.progress import Listener, listening
from ..errors import UnreadableError
from ..reports.registry import ROW_DOCUMENTS
from ..scanning import parquet
from ..scanning.journal import Journal
from ..scanning.lines import FORMATS
from ..scanning.lock import OutputLock
from ..scanning.resume import OutOfOrder, left_to_do, with_rows, without_rows
from ..scanning.rows import ScanRow
from ..sources.descriptors import at_once, limit
from . import interrupt
from .dask import executor_of
from .folder_run import to_folder
from .scan_plan import Job, ScanPlan, Tally, followed, is_stream, rows_of_parquet
from .streams import standard_output

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..reports.document import Document


def execute(plan: ScanPlan, job: Job) -> bool:
    """Run the scan and write its rows; whether any target failed."""
    tally = Tally(plan.most_failures)
    plan = _with_fewer_jobs(plan)
    with (
        _locked(plan),
        _interruptible(plan, tally),
        listening(_once(plan.say)),
        executor_of(plan.dask) as executor,
    ):
        plan.check_output()
        if plan.format_ in ROW_DOCUMENTS:
            _as_document(plan, job, executor, tally)
        elif plan.output is None:
            _to_stream(plan, job, executor, tally, standard_output)
        elif plan.folder is not None:
            to_folder(plan, plan.output, job, executor, tally)
        elif is_stream(plan.output):
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


def _once(say: Listener) -> Listener:
    """The first remark alone: the next thousand models take as long as the first."""
    rest = iter((say,))

    def tell(text: str) -> None:
        for first in rest:
            first(text)
            break

    return tell


def _with_fewer_jobs(plan: ScanPlan) -> ScanPlan:
    """The plan with as many targets at once as this process may have files open for."""
    jobs = at_once(plan.jobs)
    if plan.dask is not None or jobs == plan.jobs:
        return plan
    plan.say(f"only {limit()} files may be open (ulimit -n): {jobs} at once, not {plan.jobs}")
    return replace(plan, jobs=jobs)


def _locked(plan: ScanPlan) -> AbstractContextManager[object]:
    """Nobody else writes the output meanwhile. Raises UsageError if somebody does."""
    if plan.output is None or plan.folder is not None or is_stream(plan.output):
        return nullcontext()
    return OutputLock(plan.output)


@contextmanager
def _interruptible(plan: ScanPlan, tally: Tally) -> Iterator[None]:
    """Ctrl-C says how many rows there are, and how to go on."""

    def more() -> str:
        if plan.output is None or is_stream(plan.output) or plan.format_ in ROW_DOCUMENTS:
            return ""
        rows = f"{tally.rows:,} row{'' if tally.rows == 1 else 's'}"
        if plan.refresh:
            verb = "goes on with" if plan.folder is not None else "begins"
            again = "" if plan.folder is not None else " again"
            return f"{plan.output} is as it was; the same command {verb} the refresh{again}"
        return f"{plan.output} has {rows}; the same command with --resume goes on"

    interrupt.MORE.append(more)
    try:
        yield
    finally:
        if sys.exc_info()[0] is not KeyboardInterrupt:
            interrupt.MORE.remove(more)


OpenOutput: TypeAlias = "Callable[[], AbstractContextManager[TextIO]]"


@contextmanager
def _opened(path: Path) -> Iterator[OpenOutput]:
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


def _as_document(plan: ScanPlan, job: Job, executor: Executor | None, tally: Tally) -> None:
    from ..reports.rows_table import lay_out
    from .output import emit

    rows: list[ScanRow] = []
    laid_out = (
        _page if plan.format_ == "html" else lambda rows, job: lay_out(rows, job.types, job.pinned)
    )
    try:
        rows.extend(followed(plan, job, executor, tally))
    finally:  # a scan that is interrupted shows the rows that it has
        emit(plan.format_, lambda: laid_out(rows, job), dict, plan.output, ROW_DOCUMENTS)


def _page(rows: list[ScanRow], job: Job) -> Document:
    from ..reports.rows_page import Sized, lay_out
    from ..scanning.rows import meanings
    from ..sizing.cards import cards
    from ..sizing.curves import LINES

    sized = None
    if job.memory_request is not None:
        device = job.memory_request.device
        count = "" if device is None or device.count == 1 else f"{device.count} × "
        name = "" if device is None else f"{count}{device.name}"
        # Of several devices a row has what one holds: no sum for a card alone.
        usual = [] if count else [card for count, card in LINES if count == 1]
        sizes = {name: card.nbytes for name, card in cards().items()}
        sized = Sized(name, sizes, tuple(usual))
    return lay_out(rows, job.types, meanings(), job.pinned, sized)


def _to_stream(
    plan: ScanPlan, job: Job, executor: Executor | None, tally: Tally, written: OpenOutput
) -> None:
    """Rows as they come. Raises UnreadableError where the stream takes no more."""
    lines = FORMATS[plan.format_]
    head = lines.header(tuple(job.types))
    if plan.header and head is not None:
        with written() as out:
            out.write(head + "\n")
            out.flush()
    for row in followed(plan, job, executor, tally):
        with written() as out:
            out.write(lines.line(row) + "\n")
            out.flush()


def _to_file(plan: ScanPlan, path: Path, job: Job, executor: Executor | None, tally: Tally) -> None:
    """Append rows to ``path``."""
    columns = tuple(job.types)
    journal = Journal(path, FORMATS[plan.format_], columns, header=plan.header)
    with journal, OutOfOrder(path, columns) as finished_rows:
        written = journal.open(resume=plan.resume)
        tally.before = sum(not old_row.ok for old_row in written)
        tally.rows = len(written)
        left = (
            without_rows(job.items, written) if job.query else left_to_do(job.items, written, path)
        )
        items = with_rows(left, finished_rows.open(resume=plan.resume))
        total = None if job.total is None else max(job.total - len(written), 0)
        if written:
            plan.say(f"{path} has {len(written):,} rows" + (f", {total:,} to go" if total else ""))
        rest = replace(job, items=items, total=total)
        for row in followed(plan, rest, executor, tally, finished_rows.write):
            journal.write(row)
            tally.rows += 1
        if not tally.enough:
            finished_rows.finish()


def _refreshed(
    plan: ScanPlan, path: Path, job: Job, executor: Executor | None, tally: Tally
) -> None:
    """A new file, with the old one's rows where they hold, that replaces it in the end."""
    columns = tuple(job.types)
    known: dict[str, ScanRow] = {}
    if path.exists():
        with Journal(path, FORMATS[plan.format_], columns, header=plan.header) as old:
            old.open(resume=True)
            known = {str(row["target"]): row for row in old.rows()}
    unfinished = path.with_name(f".{path.name}.new")
    with Journal(unfinished, FORMATS[plan.format_], columns, header=plan.header) as journal:
        journal.open(resume=False)
        rest = replace(job, items=with_rows(job.items, known))
        for row in followed(plan, rest, executor, tally):
            journal.write(row)
    if not tally.enough:
        unfinished.replace(path)


def _to_parquet(
    plan: ScanPlan, path: Path, job: Job, executor: Executor | None, tally: Tally
) -> None:
    """Rows go to a journal next to the file, which becomes Parquet when all are there."""
    beside = rows_of_parquet(path)
    plan = replace(plan, format_="jsonl")
    if plan.resume and path.exists() and not beside.exists():
        parquet.restore(path, beside, job.types)
    write = _refreshed if plan.refresh else _to_file
    write(plan, beside, job, executor, tally)
    if not tally.enough:
        parquet.convert(beside, path, job.types)
        beside.unlink()
