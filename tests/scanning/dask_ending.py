"""A scan to a folder on a local cluster, one model of which ends the worker that reads it.

    python -m tests.scanning.dask_ending FOLDER

Prints the rows as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from hfinspect.cli.scan_plan import FolderOutput, Job, ScanPlan
from hfinspect.cli.scan_run import execute
from hfinspect.scanning.parquet import rows_of
from hfinspect.scanning.row_work import Item
from hfinspect.scanning.rows import ScanRow, lead

COLUMNS = ("repo_id",)


@dataclass(frozen=True)
class Ending:
    """The work of a row; one target is the end of its process."""

    target: str

    def __call__(self, item: Item) -> ScanRow:
        if item.target == self.target:
            # Dask restarts no worker that dies while its nanny still waits for it to start.
            time.sleep(0.5)
            os._exit(1)
        return {**lead(item.target), "repo_id": item.target}


def main() -> None:
    out = Path(sys.argv[1])
    items = [Item(f"org/m{number}") for number in range(250)]
    plan = ScanPlan(
        "parquet", out, False, False, 1, False, None, "local", folder=FolderOutput(100, (1, 1))
    )
    execute(plan, Job(items, len(items), Ending("org/m130"), COLUMNS))
    rows = [row for path in sorted(out.glob("*.parquet")) for row in rows_of(path)]
    sys.stdout.write(json.dumps(rows))


if __name__ == "__main__":
    main()
