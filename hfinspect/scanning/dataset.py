"""Rows of a long scan as a folder of Parquet files: parts of equal length, each whole or not there.

    models/_scan.json                   which parts are whole, and where the list goes on
    models/part-00000.parquet           ``part-2-of-8-00000.parquet`` of shard 2/8
    models/_part-00001.rows.jsonl       rows of a part in progress, as they are finished

Readers of datasets (pyarrow, pandas, Dask, Spark) pass over names that begin with ``_``. A part is
written under another name and renamed when all of its rows are there; the manifest follows. So a
run that ends anywhere is resumed with the first part that the manifest lacks, and asks only for the
rows that its journal lacks, or a part that was whole before its turn. Memory holds the offsets of
the rows of one or two parts.

On a cluster a worker reads a whole part and sends it as a file: only this process writes, so that a
part which two workers read, because one was thought to be lost, is there once.
"""

import hashlib
import itertools
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import UnreadableError, UsageError
from ..sources.hub.search import BEGIN, ListPlace
from . import parquet
from .dataset_manifest import Manifest, PartRecord, read_manifest, write_manifest
from .journal import Journal
from .lines import FORMATS
from .lock import OutputLock
from .row_work import Item, failed
from .rows import ScanRow

#: Rows of a part: some 2 MB of Parquet, and 20 MB of a journal that a crash may leave.
PART_ROWS: Final = 10_000

#: The folder of a refresh that goes on, within that of the rows.
REFRESHED: Final = "_refresh"

#: What such a folder may hold that its readers see.
_PART: Final = re.compile(r"part(?:-\d+-of-(\d+))?-\d{5,}\.parquet")
_MANIFEST: Final = re.compile(r"_scan(?:-\d+-of-(\d+))?\.json")


class AnotherListError(UsageError):
    """The parts have rows of another list."""


class PartItems(NamedTuple):
    """All items of a part, its number among those of this run, and the rows that are there."""

    number: int
    items: tuple[Item, ...]


class Dataset:
    """One shard's parts in a folder, which is made if it is not there. Use as a context manager.

    With ``any_part_rows`` an earlier run decides how many rows a part has. Raises UsageError where
    the folder holds something else or another scan writes to it.
    """

    def __init__(
        self,
        folder: Path,
        types: Mapping[str, str],
        query: Mapping[str, object],
        *,
        shard: tuple[int, int] = (1, 1),
        part_rows: int = PART_ROWS,
        any_part_rows: bool = False,
    ) -> None:
        self.folder = folder
        self.shard = shard
        self.manifest = Manifest(query, types, part_rows)
        self.any_part_rows = any_part_rows
        self._label = "" if shard[1] == 1 else f"-{shard[0]}-of-{shard[1]}"
        self._path = folder / f"_scan{self._label}.json"
        self._lock = OutputLock(self._path)
        self._first = 0
        self._open: dict[int, _OpenPart] = {}

    def __enter__(self) -> "Dataset":
        self._make_folder()
        self._lock.__enter__()
        return self

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise UnreadableError(str(self.folder), f"cannot be made: {error.strerror}") from None

    def __exit__(self, *_: object) -> None:
        self.close()
        self._lock.__exit__()

    def close(self) -> None:
        """Close the journals of parts in progress."""
        for part in self._open.values():
            part.journal.close()

    def begin(self, *, resume: bool, overwrite: bool) -> None:
        """Begin, or go on after the whole parts. Raises UsageError where a run without ``resume``
        would delete rows, or the parts are those of another command."""
        self.look(resume=resume, overwrite=overwrite)
        write_manifest(self._path, self.manifest._replace(complete=False))

    def look(self, *, resume: bool, overwrite: bool) -> None:
        """What ``begin`` does before it writes that the parts are not complete."""
        self._check_folder()
        manifest = read_manifest(self._path)
        if manifest is not None and not (resume or overwrite):
            state = "a scan" if manifest.complete else "an unfinished scan"
            raise UsageError(
                str(self.folder),
                f"holds {state}: {manifest.rows:,} rows in {len(manifest.parts):,} whole parts",
                hint="resume goes on with it, overwrite begins again",
            )
        if manifest is None or overwrite:
            self._delete()
        else:
            manifest = self._refreshed(manifest)
            self.manifest = self._same(manifest)
            for number in range(len(manifest.parts)):
                if not self._part_path(number).is_file():
                    raise UsageError(
                        str(self._part_path(number)),
                        "is not there",
                        expected=f"a part of {manifest.parts[number].rows:,} rows",
                        hint="overwrite begins again",
                    )
        self._first = len(self.manifest.parts)

    def refreshed(self) -> "Dataset":
        """The data set, under this one's lock, in which all rows are made anew, those that hold
        taken over: until ``replace`` this one stays as it is."""
        return Dataset(
            self.folder / REFRESHED,
            self.manifest.columns,
            self.manifest.query,
            shard=self.shard,
            part_rows=self.manifest.part_rows,
            any_part_rows=True,
        )

    def begin_refresh(self) -> "Dataset":
        """``refreshed``, begun or gone on with."""
        other = self.refreshed()
        other._make_folder()
        other.begin(resume=True, overwrite=False)
        return other

    @property
    def beside(self) -> Path:
        """Where a run may keep a file of its own."""
        return self.folder / f"_known{self._label}.sqlite"

    def all_rows(self) -> Iterator[ScanRow]:
        """All rows that are there, those of journals too."""
        for path in self._parts(0):
            yield from parquet.rows_of(path)
        for path in self._journals():
            yield from Journal(path, FORMATS["jsonl"], tuple(self.manifest.columns)).rows()

    def replace(self, other: "Dataset") -> None:
        """Take the parts of another one, which is complete, in place of all own ones. A run that
        ends in here is gone on with by the next one that begins."""
        for path in other._parts(0):
            path.replace(self.folder / path.name)
        for path in (*self._parts(max(len(other.manifest.parts), 1)), *self._journals()):
            path.unlink(missing_ok=True)
        self.manifest = other.manifest
        write_manifest(self._path, self.manifest)
        other._path.unlink(missing_ok=True)
        with suppress(OSError):  # other shards may be there
            other.folder.rmdir()

    def _refreshed(self, old: Manifest) -> Manifest:
        """The manifest after a refresh that ended while its parts took their places."""
        other = self.refreshed()
        manifest = read_manifest(other._path)
        if manifest is None or not manifest.complete:
            return old
        other.manifest = manifest
        self.replace(other)
        return manifest

    def _check_folder(self) -> None:
        for path in self.folder.iterdir():
            if path.name.startswith("."):
                continue
            ours = _PART.fullmatch(path.name) or _MANIFEST.fullmatch(path.name)
            if ours is None and not path.name.startswith("_"):
                raise UsageError(
                    str(self.folder), f"holds {path.name}", expected="a new or an empty folder"
                )
            if ours is not None and int(ours[1] or 1) != self.shard[1]:
                count = int(ours[1] or 1)
                raise UsageError(
                    str(self.folder),
                    f"holds {path.name}, of {count} shard{'' if count == 1 else 's'}",
                    expected=f"parts of {self.shard[1]}",
                    hint="use another folder for another number of shards",
                )

    def _same(self, manifest: Manifest) -> Manifest:
        """The manifest of an earlier run. Raises UsageError if it was another command's."""
        for name, mine, other in (
            ("columns", self.manifest.columns, manifest.columns),
            ("the list", self.manifest.query, manifest.query),
            ("--part-rows", self.manifest.part_rows, manifest.part_rows),
        ):
            if mine != other and not (name == "--part-rows" and self.any_part_rows):
                raise UsageError(
                    str(self.folder),
                    f"was begun by another command: {name} differ"
                    + ("s" if name == "the list" else ""),
                    hint="repeat that one with resume, or begin again with overwrite",
                )
        return manifest

    def _delete(self) -> None:
        """The shard's parts and journals, the manifest first: what it lacks is not there."""
        self._path.unlink(missing_ok=True)
        for path in (*self._parts(0), *self._journals()):
            path.unlink(missing_ok=True)
        other = self.refreshed()
        if other.folder.is_dir():
            other._delete()
            with suppress(OSError):
                other.folder.rmdir()

    @property
    def place(self) -> ListPlace:
        """Where the list goes on after the whole parts."""
        return self.manifest.place

    @property
    def rows(self) -> int:
        """Rows that are there, those of journals too."""
        return self.manifest.rows + sum(
            len(part.offsets) - part.missing for part in self._open.values()
        )

    def rows_of_journals(self) -> int:
        """Rows that an earlier run left after the parts of the manifest."""
        complete = self._parts(self._first)
        rows = sum(parquet.count(path) for path in complete)
        for path in self._journals():
            if any(path.name.startswith(f"_{part.stem}.") for part in complete):
                continue  # its part was written, and the run ended then
            with path.open("rb") as stream:
                rows += sum(line.endswith(b"\n") for line in stream)
        return rows

    def _journals(self) -> list[Path]:
        pattern = re.compile(rf"_part{self._label}-\d{{5,}}\.rows\.jsonl")
        return [path for path in self.folder.iterdir() if pattern.fullmatch(path.name)]

    def check(self, items: Iterator[Item]) -> None:
        """Take the items of the whole parts from a list that is read from its beginning.

        Raises AnotherListError if they are others.
        """
        for number, record in enumerate(self.manifest.parts):
            names = _digest(item.target for item in islice(items, record.rows))
            if names != record.targets:
                raise AnotherListError(
                    str(self._part_path(number)),
                    "was written for another list",
                    hint="overwrite begins again",
                )

    def left(self, items: Iterable[Item]) -> Iterator[Item]:
        """Of the items after the whole parts those without a row, numbered."""
        part_rows = self.manifest.part_rows
        for number, item in enumerate(items):
            part = self._part(number // part_rows)
            if part.expects(item):
                self._write_whole()
            else:
                yield item._replace(number=number)

    def add(self, item: Item, row: ScanRow, _out_of_order: bool) -> None:
        """The row of an item of ``left``; they may come in any order."""
        number, at = divmod(item.number, self.manifest.part_rows)
        self._open[number].add(at, row)
        self._write_whole()

    def parts(self, items: Iterable[Item]) -> Iterator[PartItems]:
        """The items after the whole parts, a part at a time, with the rows that are there. A part
        of which all are there is written here and now."""
        rest = iter(items)
        for number in itertools.count():
            items_of_part = list(islice(rest, self.manifest.part_rows))
            if not items_of_part:
                return
            part = self._part(number)
            there = [part.expects(item) for item in items_of_part]
            if all(there):
                self._write_whole()
                continue
            rows = list(part.rows())
            part.journal.close()
            yield PartItems(
                number,
                tuple(
                    item if row is None else item._replace(row=row)
                    for item, row in zip(items_of_part, rows, strict=True)
                ),
            )

    def add_part(self, number: int, data: bytes, failures: int) -> None:
        """A part of ``parts`` as the bytes of its file; they may come in any order."""
        part = self._open[number]
        parquet.write_bytes(data, self._part_path(self._first + number))
        part.failures = failures
        part.missing = 0
        part.is_written = True
        self._write_whole()

    def finish(self) -> None:
        """All items have rows: write the last part, which may be shorter. A list of no items has
        one part of no rows, which says the columns."""
        for number in sorted(self._open):
            self._write(number)
        self.manifest = self.manifest._replace(complete=True)
        write_manifest(self._path, self.manifest)
        for path in (*self._journals(), *self._parts(len(self.manifest.parts))):
            path.unlink(missing_ok=True)  # of parts that the list no longer has
        if not self.manifest.parts:
            parquet.write((), self._part_path(0), self.manifest.columns)

    def _part(self, number: int) -> "_OpenPart":
        if number not in self._open:
            at = self._first + number
            name = f"_part{self._label}-{at:05d}.rows.jsonl"
            part = _OpenPart(self.folder / name, self.manifest.columns)
            if self._part_path(at).is_file():  # whole before its turn
                part.know(parquet.rows_of(self._part_path(at)))
            self._open[number] = part
        return self._open[number]

    def _parts(self, first: int) -> list[Path]:
        """The files of this shard's parts from a number on."""
        pattern = re.compile(rf"part{self._label}-(\d{{5,}})\.parquet")
        matches = [(pattern.fullmatch(path.name), path) for path in self.folder.iterdir()]
        return [path for name, path in matches if name is not None and int(name[1]) >= first]

    def _part_path(self, number: int) -> Path:
        return self.folder / f"part{self._label}-{number:05d}.parquet"

    def _write_whole(self) -> None:
        """Write parts that are whole, in their order: the manifest names no later one."""
        while self._open:
            oldest = min(self._open)
            part = self._open[oldest]
            if len(part.offsets) < self.manifest.part_rows or part.missing:
                return
            self._write(oldest)

    def _write(self, number: int) -> None:
        part = self._open[number]
        if not part.is_written:
            parquet.write(
                part.journal.rows_at(part.offsets),
                self._part_path(self._first + number),
                self.manifest.columns,
            )
        record = PartRecord(len(part.offsets), part.failures, part.targets.hexdigest())
        self.manifest = self.manifest._replace(parts=(*self.manifest.parts, record), place=part.end)
        write_manifest(self._path, self.manifest)
        del self._open[number]
        part.journal.close()
        part.journal.path.unlink(missing_ok=True)


class _OpenPart:
    """A part in progress: its journal, and where in it the row of each item is (-1: not yet)."""

    def __init__(self, path: Path, columns: Mapping[str, str]) -> None:
        self.journal = Journal(path, FORMATS["jsonl"], tuple(columns))
        self.journal.open(resume=True)
        self.offsets = array("q")
        self.missing = self.failures = 0
        self.targets = hashlib.sha256()
        self.end = BEGIN
        self.is_written = False
        #: Rows of an earlier run by target: the offset, and whether it failed.
        self._known = {
            str(row["target"]): (offset, failed(row))
            for offset, row in self.journal.rows_and_offsets()
        }

    def know(self, rows: Iterable[ScanRow]) -> None:
        """Take rows of a file as if they were those of the journal."""
        for row in rows:
            target = str(row["target"])
            if target not in self._known:
                self._known[target] = self.journal.write(row), failed(row)

    def rows(self) -> Iterator[ScanRow | None]:
        """The rows of the items that were taken; None for those that are missing."""
        rows = self.journal.rows_at(offset for offset in self.offsets if offset >= 0)
        return (None if offset < 0 else next(rows) for offset in self.offsets)

    def expects(self, item: Item) -> bool:
        """Take the next item; whether its row is there already."""
        self.targets.update(_counted(item.target))
        if item.listed is not None:
            self.end = item.listed.end
        known = self._known.get(item.target)
        if known is None:
            self.offsets.append(-1)
            self.missing += 1
            return False
        self.offsets.append(known[0])
        self.failures += known[1]
        return True

    def add(self, at: int, row: ScanRow) -> None:
        self.offsets[at] = self.journal.write(row)
        self.missing -= 1
        self.failures += failed(row)


def _digest(targets: Iterable[str]) -> str:
    total = hashlib.sha256()
    for target in targets:
        total.update(_counted(target))
    return total.hexdigest()


def _counted(target: str) -> bytes:
    """A target with its length, so that two lists of different names never make the same bytes."""
    text = target.encode("utf-8", "surrogatepass")
    return b"%d:%b" % (len(text), text)
