"""A part of a dataset as one piece of work: what a worker of a cluster reads and sends back."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import NamedTuple

from ..core.records import dataclass
from ..sources.descriptors import at_once
from . import parquet
from .dataset import PartItems
from .row_work import Item, failed, rows
from .rows import LEADING, ScanRow


class PartRows(NamedTuple):
    """A part as the bytes of a Parquet file, None where it was left early, and its failures."""

    data: bytes | None
    read: int
    failures: tuple[ScanRow, ...]


@dataclass(frozen=True)
class PartWork:
    """What a worker does for a part, ``jobs`` targets at once. Plain data: it travels to other
    processes. After ``most`` failures the part is left: the scan ends then.

    With an ``executor`` each target of the part is a task of its own.
    """

    work: Callable[[Item], ScanRow]
    types: Mapping[str, str]
    jobs: int
    most: int | None = None

    def __call__(self, part: PartItems, executor: Executor | None = None) -> PartRows:
        finished: list[ScanRow] = []
        failures: list[ScanRow] = []
        jobs = self.jobs if executor is not None else at_once(self.jobs)
        columns = [name for name in self.types if name not in LEADING]
        read = rows(part.items, self.work, columns, jobs=jobs, executor=executor)
        for row in read:
            finished.append(row)
            failures += [row] if failed(row) else []
            if self.most is not None and len(failures) >= self.most:
                return PartRows(None, len(finished), tuple(failures))
        return PartRows(parquet.packed(finished, self.types), len(finished), tuple(failures))
