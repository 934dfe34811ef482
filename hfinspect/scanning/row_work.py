"""What a scan does for one target, and the rows of all of them in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing
from typing import TYPE_CHECKING, Final, NamedTuple

from ..core.hub_info import HubInfo
from ..core.records import dataclass
from ..core.refs import ModelRef
from ..core.results import Failure
from ..core.text import clean
from ..core.verdicts import AuditResult
from ..errors import (
    HfinspectError,
    MalformedError,
    RequestTimeoutError,
    UnknownArchitectureError,
    UsageError,
)
from ..inspecting.build import Inspected
from ..inspecting.inspect_run import inspect_opened, of_pipeline
from ..sources.deadline import Deadline
from ..sources.hub.model_info import Listing
from ..sources.hub.search import CONFIG, ListedModel, listed_model
from ..sources.local import LocalSource
from ..sources.memoized import MemoizedSource
from ..sources.opening import Access, errors_about
from .engine import ScanOptions, inspected, lost, run, second_try, shared
from .rows import AUDIT_COLUMNS, LEADING, MEMORY_COLUMNS, TOTALS_COLUMNS, ScanRow, lead, row_of
from .time_limit import within

if TYPE_CHECKING:
    from ..sizing.memory_request import MemoryRequest


class Item(NamedTuple):
    """One target, with what is known of it: the Hub's list entry, a row of an earlier run, its
    number among those of this run."""

    target: str
    listed: ListedModel | None = None
    row: ScanRow | None = None
    number: int = 0


#: Errors of a model that was read and cannot be counted: what is wrong with it, an audit says.
_JUDGED: Final = (MalformedError, UnknownArchitectureError)


@dataclass(frozen=True)
class RowWork:
    """What a worker does for one target. Plain data: it travels to other processes.

    A row of an earlier run is taken as it is; with ``refresh`` only if it is ok and its revision
    has not moved since.
    """

    options: ScanOptions
    columns: tuple[str, ...]
    audit: bool = False
    refresh: bool = False
    memory_request: MemoryRequest | None = None

    def __call__(self, item: Item) -> ScanRow:
        """The target's row: the leading columns, then ``columns``. Raises nothing of ours."""
        deadline = Deadline(self.options.timeout)
        try:
            row = within(deadline, lambda: self._row(item, deadline), item.target)
        except RequestTimeoutError as error:
            row = row_of(Failure(item.target, error), self.columns, item.target)
        return {name: row[name] for name in (*LEADING, *self.columns)}

    def _row(self, item: Item, deadline: Deadline) -> ScanRow:
        if item.row is not None and (not self.refresh or self._holds(item, item.row, deadline)):
            return item.row
        listing = item.listed.listing() if item.listed else None
        if not self.audit:
            return self._inspected_row(
                inspected(item.target, self.options, listing, deadline, unsized=self._unsized),
                item.target,
            )
        result, audited = _inspected_and_audited(
            item.target, self.options, listing, deadline, unsized=self._unsized
        )
        row = self._inspected_row(result, item.target)
        if isinstance(audited, AuditResult):
            return {**row, **_audit_row(audited)}
        if audited is None or isinstance(result, Failure):
            return row
        return {**row, **lead(item.target, error=audited)}

    @property
    def _unsized(self) -> bool:
        """Whether a model of which nothing says how large it is, has an answer: on a device, that
        nobody knows."""
        return self.memory_request is not None and self.memory_request.device is not None

    def _inspected_row(self, result: Inspected | Failure, target: str) -> ScanRow:
        """The columns of an inspection and of memory; those of an audit are still null."""
        row = dict.fromkeys((*MEMORY_COLUMNS, *AUDIT_COLUMNS))
        plain = tuple(name for name in self.columns if name not in row)
        if isinstance(result, Failure):
            return {**row, **row_of(result, plain, target)}
        if self.memory_request is not None:
            from .memory_rows import memory_row, sized

            row.update(memory_row(sized(result, self.memory_request)))
        if result.refused is not None:
            return {**row, **row_of(Failure(target, result.refused), plain, target)}
        return {**row, **row_of(result.inspection, plain, target)}

    def _holds(self, item: Item, row: ScanRow, deadline: Deadline) -> bool:
        if row["status"] != "ok" or row["commit"] is None:
            return False
        if item.listed is not None:
            return row["commit"] == item.listed.commit
        return row["commit"] == current_commit(item.target, self.options, deadline)


@dataclass(frozen=True)
class Reported:
    """``--totals-only``: what the Hub says of a model itself, from its list or, of a name, by one
    request. With ``refresh`` no row of an earlier run is taken: what says that it holds, says all
    of it. Plain data: it travels to other processes."""

    options: ScanOptions
    columns: tuple[str, ...] = tuple(TOTALS_COLUMNS)
    refresh: bool = False

    @property
    def expand(self) -> tuple[str, ...]:
        """The Hub's names of what has the columns."""
        hub = {
            "safetensors": ("hub_reported_parameters", "hub_reported_dtypes"),
            CONFIG: ("model_type", "architecture"),
            "gated": ("gated",),
            "lastModified": ("last_modified",),
            "library_name": ("library",),
            "pipeline_tag": ("task",),
            "tags": ("license",),
        }
        return ("sha", *(key for key, of in hub.items() if not set(of).isdisjoint(self.columns)))

    def __call__(self, item: Item) -> ScanRow:
        """The model's row; what is wrong with it is in the row."""
        if item.row is not None and not self.refresh:
            return item.row
        deadline = Deadline(self.options.timeout)
        try:
            model = item.listed or within(
                deadline, lambda: self._listed(item.target, deadline), item.target
            )
        except HfinspectError as error:
            return row_of(Failure(item.target, error), self.columns, item.target)
        values = _reported_values(model)
        return {
            **lead(item.target, commit=model.commit),
            **{name: values[name] for name in self.columns},
        }

    def _listed(self, target: str, deadline: Deadline) -> ListedModel:
        client, _ = shared(self.options)
        access = Access(endpoint=self.options.endpoint, timeout=deadline, client=client)
        ref = access.resolve(target)
        if ref.repo_id is None:
            raise UsageError(target, "is not on the Hub", expected="org/name with --totals-only")
        return listed_model(
            client, ref.repo_id, ref.revision, expand=self.expand, deadline=deadline
        )


def _reported_values(model: ListedModel) -> ScanRow:
    """The columns that begin with ``hub_reported_`` are the Hub's counts, by its own rules."""
    dtypes = " ".join(f"{clean(dtype)}:{count}" for dtype, count in model.reported.items())
    info = model.info or HubInfo()
    gated = info.gated
    return {
        "repo_id": model.repo_id,
        "hub_reported_parameters": model.reported_total,
        "hub_reported_dtypes": dtypes or None,
        "model_type": model.model_type,
        "architecture": model.architecture,
        "license": info.license,
        "gated": str(gated).lower() if isinstance(gated, bool) else gated,
        "last_modified": info.last_modified,
        "library": info.library,
        "task": info.task,
    }


def current_commit(target: str, options: ScanOptions, deadline: Deadline) -> str | None:
    """The commit of a Hub target's revision now (one request); None for anything else."""
    client, _ = shared(options)
    access = Access(endpoint=options.endpoint, timeout=deadline, client=client)
    try:
        ref = access.resolve(target)
        if ref.repo_id is None:
            return None
        source = access.open(ref)
        source.list_files()
        return source.origin.commit
    except HfinspectError:
        return None


def _inspected_and_audited(
    target: str,
    options: ScanOptions,
    listing: Listing | None,
    deadline: Deadline,
    *,
    unsized: bool = False,
) -> tuple[Inspected | Failure, AuditResult | HfinspectError | None]:
    """Both of one target, whose files are read once. None for a model that could not be read: what
    is wrong with one that cannot be counted, an audit says."""
    client, cache = shared(options)
    access = Access(
        endpoint=options.endpoint, timeout=deadline, client=client, cache=cache, listing=listing
    )
    result: Inspected | Failure
    try:
        ref = access.resolve(target)
        opened = access.open(of_pipeline(ref))
    except HfinspectError as error:
        return Failure(target, error), None
    source = MemoizedSource(opened)
    with closing(source):
        try:
            with errors_about(ref):
                result = inspect_opened(
                    target, of_pipeline(ref), source, access, source=options.source, unsized=unsized
                )
        except HfinspectError as error:
            result = Failure(target, error)
            if not isinstance(error, _JUDGED):
                return result, None
        try:
            inspected = None if isinstance(result, Failure) else result
            return result, _audited(target, ref, source, inspected)
        except HfinspectError as error:
            return result, error


def _audited(
    target: str, ref: ModelRef, source: MemoizedSource, inspected: Inspected | None
) -> AuditResult:
    from ..auditing.facts.weights_read import is_without_bytes
    from ..auditing.run import run_audit

    if of_pipeline(ref) != ref and ref.path is not None:  # one file of a pipeline that was named
        return run_audit(target, LocalSource(ref.path), file=ref.file)
    source.only_answer()
    predicted = None if inspected is None else inspected.predicted
    read = () if inspected is None or inspected.checkpoint is None else inspected.checkpoint.shards
    # What a server has parsed is read once more: a scan judges every byte of a header.
    shards = [shard for shard in read if not is_without_bytes(shard)]
    return run_audit(target, source, file=ref.file, predicted=predicted, shards=shards)


def _audit_row(audit: AuditResult) -> ScanRow:
    return {
        "audit_errors": audit.counts["error"],
        "audit_warnings": audit.counts["warning"],
        "audit_notes": audit.counts["note"],
        "audit_codes": " ".join(sorted({finding.code for finding in audit.findings})),
    }


def rows(
    items: Iterable[Item],
    work: Callable[[Item], ScanRow],
    columns: Sequence[str],
    *,
    jobs: int,
    executor: Executor | None = None,
    on_row: Callable[[Item, ScanRow, bool], None] | None = None,
) -> Iterator[ScanRow]:
    """Rows in the order of the items; ``on_row`` is called as in ``engine.run``."""

    def lost_row(item: Item, error: BaseException) -> ScanRow:
        return row_of(lost(item.target, error), columns)

    def second(item: Item, error: BaseException) -> ScanRow:
        return second_try(item, error, work, lost_row, executor)

    return run(items, work, second, jobs=jobs, executor=executor, on_result=on_row)


def failed(row: ScanRow) -> bool:
    """Whether a row is that of a target that could not be inspected."""
    return row["status"] != "ok"
