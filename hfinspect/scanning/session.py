"""A whole scan: rows of all targets into a file or a stream, resumable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from ..core.results import Failure
from ..errors import HfinspectError
from ..sources.hub_models import ListedModel
from .engine import ScanOptions, inspect_one, lost, run, shared
from .rows import LEADING, Row, row_of


@dataclass(frozen=True)
class RowWork:
    """What a worker does for one target. Plain data: it travels to other processes."""

    options: ScanOptions
    columns: tuple[str, ...]
    audit: bool = False

    def __call__(self, target: str) -> Row:
        """The target's row. Raises nothing of ours."""
        result = inspect_one(target, self.options)
        row = row_of(result, self.columns, target)
        if self.audit and not isinstance(result, Failure):
            row.update(_audit_row(target, self.options))
        elif self.audit:
            row.update(
                dict.fromkeys(("audit_errors", "audit_warnings", "audit_notes", "audit_codes"))
            )
        return row


class Reported:
    """``--totals-only``: what the Hub's list says of itself, without another request."""

    def __init__(self, models: Sequence[ListedModel]) -> None:
        self._models = {model.repo_id: model for model in models}

    def __call__(self, target: str) -> Row:
        model = self._models[target]
        dtypes = " ".join(f"{dtype}:{count}" for dtype, count in model.reported.items())
        return {
            **dict(zip(LEADING, (target, "ok", None, None), strict=True)),
            "repo_id": model.repo_id,
            "commit": model.commit,
            "hub_reported_parameters": model.reported_total,
            "hub_reported_dtypes": dtypes or None,
        }


@dataclass(frozen=True)
class Refresh:
    """``--refresh``: keep a row whose revision has not moved, ask again otherwise."""

    work: RowWork
    rows: dict[str, Row]

    def __call__(self, target: str) -> Row:
        row = self.rows.get(target)
        if row is not None and row["status"] == "ok" and self._unmoved(target, row):
            return row
        return self.work(target)

    def _unmoved(self, target: str, row: Row) -> bool:
        commit = row.get("commit")
        return commit is not None and commit == current_commit(target, self.work.options)


def current_commit(target: str, options: ScanOptions) -> str | None:
    """The commit of a Hub target's revision now (one request); None for anything else."""
    from .. import api

    client, _ = shared(options)
    try:
        ref = api.resolve(target, endpoint=options.endpoint)
        if ref.repo_id is None:
            return None
        source = api.open_source(ref, client=client)
        source.list_files()
        return source.origin.commit
    except HfinspectError:
        return None


def _audit_row(target: str, options: ScanOptions) -> Row:
    from .. import api

    client, _ = shared(options)
    found = api.audit(target, client=client)
    counts = {"error": 0, "warning": 0, "note": 0}
    for finding in found.findings:
        counts[finding.severity] += 1
    codes = sorted({finding.code for finding in found.findings})
    return {
        "audit_errors": counts["error"],
        "audit_warnings": counts["warning"],
        "audit_notes": counts["note"],
        "audit_codes": " ".join(codes),
    }


def rows(
    targets: Sequence[str],
    work: Callable[[str], Row],
    columns: Sequence[str],
    *,
    jobs: int,
    executor: Executor | None = None,
    on_row: Callable[[Row], None] | None = None,
) -> Iterator[Row]:
    """Rows in the order of the targets; ``on_row`` is called in order of completion."""

    def lost_row(target: str, error: BaseException) -> Row:
        return row_of(lost(target, error), columns)

    def seen(_index: int, row: Row) -> None:
        if on_row is not None:
            on_row(row)

    return run(targets, work, lost_row, jobs=jobs, executor=executor, on_result=seen)


def failed(row: Row) -> bool:
    return row[LEADING[1]] != "ok"
