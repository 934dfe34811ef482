"""Going on with a scan: which rows are there, which targets are left."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ..core.text import clean
from ..errors import UsageError
from .journal import Journal, WrittenRow
from .lines import FORMATS
from .row_work import Item
from .rows import ScanRow


def left_to_do(items: Iterable[Item], written: Sequence[WrittenRow], path: Path) -> Iterator[Item]:
    """The items after those that have rows. Raises UsageError if the rows are of another list."""
    left = iter(items)
    for i, row in enumerate(written):
        item = next(left, None)
        if item is None or clean(item.target) != clean(row.target):
            error = UsageError(
                str(path),
                f"row {i + 1} is {clean(row.target)}",
                expected=clean(item.target) if item else "no such row",
                hint="the file was written for another list; begin a new file",
            )
            error.argument = ("resume", "")
            raise error
    return left


def without_rows(items: Iterable[Item], written: Sequence[WrittenRow]) -> Iterator[Item]:
    """The items without a row: for lists that the Hub makes, whose order changes."""
    names = {row.target for row in written}
    return (item for item in items if item.target not in names)


def with_rows(items: Iterable[Item], rows: Mapping[str, ScanRow]) -> Iterator[Item]:
    """Every item with the row that an earlier run made of it, if any."""
    return (item._replace(row=rows.get(item.target)) for item in items)


class OutOfOrder:
    """A file next to the rows for those that are finished before their turn.

    A slow target keeps the ones after it waiting, for the order's sake. They are kept here
    meanwhile, so that whatever ends a run, what was asked need not be asked again.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path = path.with_name(f".{path.name}.early")
        self._journal = Journal(self.path, FORMATS["jsonl"], columns)

    def open(self, *, resume: bool) -> dict[str, ScanRow]:
        """Begin, or go on; the rows of an earlier run by target."""
        try:
            if not self._journal.open(resume=resume):
                return {}
        except UsageError:  # of another command: of no use, and nobody else's
            self._journal.close()
            self._journal.open(resume=False)
            return {}
        return {str(row["target"]): row for row in self._journal.rows()}

    def write(self, item: Item, row: ScanRow, out_of_order: bool) -> None:
        """A row, if it is finished before its turn."""
        if out_of_order and item.row is None:
            self._journal.write(row)

    def finish(self) -> None:
        """All rows are where they belong."""
        self._journal.close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> "OutOfOrder":
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()
