"""The sum of all rows of a scan, in one pass and in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

from ..core.components import Component
from ..core.scan_summary import RowGroup, RowGroups, ScanSummary, SizeClass
from ..core.text import clean
from .read_rows import open_rows
from .rows import ScanRow

#: Values of a column that are kept apart. Architectures are some thousands; anybody can write
#: anything into a config.
MAX_VALUES: Final = 50_000
#: Values that are listed.
MOST: Final = 40
#: Characters of a value that are kept.
MAX_NAME: Final = 120
#: Bounds of the size classes, in parameters.
SIZES: Final = (0, 10**7, 10**8, 10**9, 3 * 10**9, 10**10, 3 * 10**10, 10**11)
#: Bounds of the context lengths, in tokens.
CONTEXTS: Final = (0, 513, 2049, 4097, 8193, 32769, 131073, 262145, 1048577)
_COMPONENTS: Final[tuple[str, ...]] = tuple(component.value for component in Component)
#: Columns whose values are counted as they are.
_BY_VALUE: Final = ("architecture", "model_type", "quantization", "license", "library", "task")
_WANTED: Final = (
    *("status", "error_kind", "parameters", "hub_reported_parameters", "nbytes", "context"),
    *("dtype", "hub_reported_dtypes", *_BY_VALUE, *_COMPONENTS),
)


def report(path: str | os.PathLike[str]) -> ScanSummary:
    """What the rows of a scan come to: a file that it wrote (Parquet, CSV, JSON lines), or a folder
    of parts.

    Memory does not grow with the number of rows. Raises EntryNotFoundError, UnreadableError, and
    UsageError for what no scan has written.
    """
    rows = open_rows(Path(path), _WANTED)
    total = _Total(rows.columns)
    for row in rows.rows:
        total.add(row)
    return total.summary(os.fspath(path), tuple(rows.notes))


class _ByValue:
    """Rows by value; beyond ``MAX_VALUES`` a new value is one of the others."""

    def __init__(self) -> None:
        self.values: dict[str, list[int]] = {}
        self.others = [0, 0]
        self.without = [0, 0]

    def add(self, value: str | None, parameters: int) -> None:
        if not value:
            sums = self.without
        elif value in self.values:
            sums = self.values[value]
        elif len(self.values) < MAX_VALUES:
            sums = self.values[value] = [0, 0]
        else:
            sums = self.others
        sums[0] += 1
        sums[1] += parameters

    def groups(self, column: str) -> RowGroups:
        ordered = sorted(self.values.items(), key=lambda one: (-one[1][0], one[0]))
        rest = [self.others, *(sums for _, sums in ordered[MOST:])]
        return RowGroups(
            column=column,
            groups=tuple(RowGroup(clean(name, MAX_NAME), *sums) for name, sums in ordered[:MOST]),
            different=len(self.values),
            bounded=self.others[0] > 0,
            others=RowGroup("others", sum(n for n, _ in rest), sum(size for _, size in rest)),
            without=RowGroup("none", *self.without),
        )


class _Total:
    """What has been added up so far."""

    def __init__(self, columns: Iterable[str]) -> None:
        self.columns = frozenset(columns)
        self.rows = self.ok = 0
        self.counted = self.parameters = 0
        self.sized = self.nbytes = 0
        self.failures: dict[str, int] = {}
        parameters = "parameters"
        by_hub = "hub_reported_parameters"
        self.by_hub = by_hub in self.columns and parameters not in self.columns
        self.components = [name for name in _COMPONENTS if name in self.columns]
        self.sizes = [[0, 0, *(0 for _ in self.components)] for _ in SIZES]
        self.contexts = [[0, 0] for _ in CONTEXTS]
        self.no_context = [0, 0]
        self.dtypes = _ByValue()
        self.by_value = {name: _ByValue() for name in _BY_VALUE if name in self.columns}

    def add(self, row: ScanRow) -> None:
        self.rows += 1
        if row["status"] != "ok":
            kind = str(row.get("error_kind"))
            self.failures[kind] = self.failures.get(kind, 0) + 1
            return
        self.ok += 1
        known = row.get("hub_reported_parameters" if self.by_hub else "parameters")
        number = known if isinstance(known, int) else 0
        if isinstance(known, int):
            self._size(row, known)
        size = row.get("nbytes")
        if isinstance(size, int):
            self.sized += 1
            self.nbytes += size
        for name, counted in self.by_value.items():
            value = row.get(name)
            counted.add(value if isinstance(value, str) else None, number)
        self.dtypes.add(_dtype(row), number)
        context = row.get("context")
        sums = self.no_context
        if isinstance(context, int):
            sums = self.contexts[_place(context, CONTEXTS)]
        sums[0] += 1
        sums[1] += number

    def _size(self, row: ScanRow, parameters: int) -> None:
        self.counted += 1
        self.parameters += parameters
        sums = self.sizes[_place(parameters, SIZES)]
        sums[0] += 1
        sums[1] += parameters
        for at, name in enumerate(self.components, 2):
            value = row.get(name)
            sums[at] += value if isinstance(value, int) else 0

    def summary(self, target: str, notes: tuple[str, ...]) -> ScanSummary:
        return ScanSummary(
            target=target,
            rows=self.rows,
            ok=self.ok,
            failures=dict(sorted(self.failures.items(), key=lambda one: (-one[1], one[0]))),
            counted_by="hub" if self.by_hub else "hfinspect",
            counted=self.counted,
            parameters=self.parameters,
            sized=self.sized,
            nbytes=self.nbytes,
            sizes=tuple(self._size_classes()),
            groups=tuple(self._groups()),
            notes=notes,
        )

    def _size_classes(self) -> Iterator[SizeClass]:
        for (low, high), sums in zip(pairwise((*SIZES, None)), self.sizes, strict=True):
            assert low is not None
            components = dict(zip(self.components, sums[2:], strict=True))
            yield SizeClass(low, high, sums[0], sums[1], components)

    def _groups(self) -> Iterator[RowGroups]:
        columns: dict[str, Callable[[], RowGroups]] = {
            name: partial(counted.groups, name) for name, counted in self.by_value.items()
        }
        if self.columns & {"dtype", "hub_reported_dtypes"}:
            columns["dtype"] = partial(self.dtypes.groups, "dtype")
        if "context" in self.columns:
            columns["context"] = self._context_groups
        for name in ("architecture", "model_type", "dtype", "quantization", "context", *_BY_VALUE):
            if name in columns:
                yield columns.pop(name)()

    def _context_groups(self) -> RowGroups:
        groups = tuple(
            RowGroup(f"more than {low - 1:,}" if high is None else f"up to {high - 1:,}", *sums)
            for (low, high), sums in zip(pairwise((*CONTEXTS, None)), self.contexts, strict=True)
            if low is not None
        )
        others = RowGroup("others", 0, 0)
        without = RowGroup("none", *self.no_context)
        return RowGroups("context", groups, len(groups), False, others, without)


def _place(value: int, bounds: tuple[int, ...]) -> int:
    """The number of the range that a value lies in."""
    return max(sum(bound <= value for bound in bounds) - 1, 0)


def _dtype(row: ScanRow) -> str | None:
    """The dtype of most bytes; of the Hub's counts that of most elements."""
    value = row.get("dtype")
    if isinstance(value, str):
        return None if value == "unknown" else value  # of a config that does not say it
    reported = row.get("hub_reported_dtypes")
    pairs = [word.rpartition(":") for word in reported.split()] if isinstance(reported, str) else []
    counts = {name: int(count) for name, _, count in pairs if count.isdecimal()}
    return max(counts, key=lambda name: counts[name]) if counts else None
