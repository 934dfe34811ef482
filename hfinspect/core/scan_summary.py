"""What the rows of a scan come to: counts by architecture, size, dtype and what else a row says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from .json_form import JsonDocument, JsonForm
from .records import dataclass


@dataclass(frozen=True)
class RowGroup(JsonForm):
    """Models that have a value in common.

    Fields:
        name: the value
        models: rows that have it
        parameters: sum of their parameters, of those whose number is known
    """

    name: str
    models: int
    parameters: int


@dataclass(frozen=True)
class RowGroups(JsonForm):
    """Models by the values of one column; only models that were read are counted.

    Fields:
        column: the column of the rows
        groups: the most frequent values, the most frequent first; of ranges all, in their order
        different: how many values there are in all
        bounded: true if there are more values than were kept apart
        others: models with any other value
        without: models whose rows have no value
    """

    column: str
    groups: tuple[RowGroup, ...]
    different: int
    bounded: bool
    others: RowGroup
    without: RowGroup


@dataclass(frozen=True)
class SizeClass(JsonForm):
    """Models of about one size.

    Fields:
        low: the least number
        high: the end of the range, which is not in it; null for the last one
        models: how many there are
        parameters: sum of their parameters
        components [parameters]: the same by component; empty where rows have no components
    """

    low: int
    high: int | None
    models: int
    parameters: int
    components: Mapping[str, int] = field(hash=False)


@dataclass(frozen=True)
class ScanSummary(JsonDocument):
    """All rows of a scan in numbers.

    Fields:
        target: the file or folder that was read
        rows: rows that it has
        ok: models that were read
        failures [error kind -> rows]: models that were not, by the kind of the error
        counted_by: ``hfinspect``, or ``hub`` where rows have the Hub's own totals alone
        counted: models whose number of parameters is known
        parameters: their sum
        sized: models whose bytes are known
        nbytes [bytes]: the sum of all of their tensors
        sizes: models by number of parameters
        groups: models by architecture and other columns
        notes: what else there is to know about the rows
    """

    target: str
    rows: int
    ok: int
    failures: Mapping[str, int] = field(hash=False)
    counted_by: Literal["hfinspect", "hub"]
    counted: int
    parameters: int
    sized: int
    nbytes: int
    sizes: tuple[SizeClass, ...]
    groups: tuple[RowGroups, ...]
    notes: tuple[str, ...] = ()
