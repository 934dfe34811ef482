"""Rows of a scan to a folder of parts: here or on a cluster, from the beginning or anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..scanning.dataset import PART_ROWS, AnotherListError, Dataset, PartItems
from ..scanning.engine import run
from ..scanning.known_rows import KnownRows
from ..scanning.part_work import PartRows, PartWork
from ..scanning.row_work import Item
from ..scanning.targets import falls_to
from .dask import workers_of
from .progress_line import ScanProgress
from .scan_plan import Job, ScanPlan, Tally, followed

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: Rows of a part that a worker reads: what a lost one costs. A token's quota lasts for some 8 rows
#: a second.
_CLUSTER_ROWS: Final = 1_000
#: Parts for each worker that may be there before an older one is.
_AHEAD: Final = 8


def to_folder(
    plan: ScanPlan, path: Path, job: Job, executor: Executor | None, tally: Tally
) -> None:
    """Rows to parts of Parquet, from the first part on that is not whole."""
    folder = plan.folder
    assert folder is not None
    query = {} if job.query is None else {**asdict(job.query), "filters": [*job.query.filters]}
    part_rows = folder.part_rows or (PART_ROWS if executor is None else _CLUSTER_ROWS)
    with Dataset(
        path,
        job.types,
        query,
        shard=folder.shard,
        part_rows=part_rows,
        any_part_rows=folder.part_rows is None,
    ) as dataset:
        if plan.refresh:
            dataset.look(resume=True, overwrite=False)
            if dataset.manifest.rows + dataset.rows_of_journals():
                _refresh(plan, path, job, executor, tally, dataset)
                return
        dataset.begin(resume=plan.resume, overwrite=plan.overwrite)
        tally.rows = dataset.manifest.rows + dataset.rows_of_journals()
        _scan(plan, f"{path} has", job, executor, tally, dataset)


def _refresh(
    plan: ScanPlan, path: Path, job: Job, executor: Executor | None, tally: Tally, dataset: Dataset
) -> None:
    """All rows anew next to those that are there, which they replace in the end."""
    fresh = dataset.begin_refresh()
    with closing(fresh), KnownRows(fresh.beside, dataset.all_rows()) as known:
        tally.rows = fresh.manifest.rows + fresh.rows_of_journals()
        try:
            _scan(plan, f"the refresh of {path} has", job, executor, tally, fresh, known)
        except AnotherListError:
            fresh.begin(resume=False, overwrite=True)
            _scan(plan, "", job, executor, tally, fresh, known)
    if not tally.enough:
        dataset.replace(fresh)


def _scan(
    plan: ScanPlan,
    there: str,
    job: Job,
    executor: Executor | None,
    tally: Tally,
    dataset: Dataset,
    known: KnownRows | None = None,
) -> None:
    k, n = dataset.shard
    items = job.items if job.list_from is None else job.list_from(dataset.place)
    items_here = (item for item in items if n == 1 or falls_to(item.target, k, n))
    total = job.total if n == 1 else None
    if job.list_from is None:
        dataset.check(items_here)
        if n > 1:
            total = sum(falls_to(item.target, k, n) for item in job.items)
    left = None if total is None else max(total - tally.rows, 0)
    if tally.rows:
        plan.say(f"{there} {tally.rows:,} rows" + (f", {left:,} to go" if left else ""))
    if executor is not None:
        _on_cluster(plan, job, executor, tally, dataset, _with_rows(items_here, known), left)
    else:
        rest = replace(job, items=_with_rows(dataset.left(items_here), known), total=left)
        for _ in followed(plan, rest, None, tally, dataset.add):
            tally.rows = dataset.rows
    if not tally.enough:
        dataset.finish()
    tally.before = dataset.manifest.failures


def _with_rows(items: Iterable[Item], known: KnownRows | None) -> Iterator[Item]:
    """The items, each with the row of an earlier scan, if it has one."""
    for item in items:
        yield item if known is None else item._replace(row=known.get(item.target))


class _EnoughError(Exception):
    """There are as many failures as the user will have."""


def _on_cluster(
    plan: ScanPlan,
    job: Job,
    executor: Executor,
    tally: Tally,
    dataset: Dataset,
    items: Iterable[Item],
    total: int | None,
) -> None:
    """A worker reads a part at a time. A lost one costs the parts that it had begun."""
    progress = ScanProgress(total, quiet=plan.quiet)
    work = PartWork(job.work, job.types, plan.jobs, plan.most_failures)
    workers = workers_of(executor)

    def one_by_one(part: PartItems, error: BaseException) -> PartRows:
        """What a part has in it that ends one worker after the other ends them alone."""
        plan.say(f"a part was lost ({type(error).__name__}): its models are read one by one")
        return work(part, executor)

    def written(part: PartItems, result: PartRows, _out_of_order: bool) -> None:
        if result.data is not None:
            dataset.add_part(part.number, result.data, len(result.failures))
        progress.add_many(result.read, result.failures)
        tally.failures += len(result.failures)
        tally.rows += result.read
        if tally.enough:
            raise _EnoughError

    try:
        with suppress(_EnoughError):
            for _ in run(
                dataset.parts(items),
                work,
                one_by_one,
                jobs=workers,
                executor=executor,
                window=_AHEAD * workers,
                on_result=written,
            ):
                pass
    finally:
        progress.finish()
