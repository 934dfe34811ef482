"""The layout of a scan as a page: what came out, charts, and every row."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..core.text import byte_size, first_of, rounded_count
from .document import Cell, Document, Facts
from .drawings import Chapter
from .grid import Bar, Chart, Grid, GridColumn

Rows = Sequence[Mapping[str, Cell]]

#: What is shown at first, where any row says it, next to what the user named.
_SHOWN = tuple(
    """target fits max_context memory_total parameters active_parameters nbytes dtype quantization
    architecture audit_errors audit_warnings audit_codes status error_kind""".split()
)
#: A column of the page alone: what the cards' bars count.
NEEDED = "memory_needed"
#: Bounds of the bars of sizes: 1, 2 and 5 times powers of ten.
_BOUNDS = tuple(step * 10**power for power in range(3, 16) for step in (1, 2, 5))


class Sized(NamedTuple):
    """What memory was computed for: the device as its columns name it, the bytes of each card, and
    the cards that have a bar."""

    device: str
    sizes: Mapping[str, int]
    cards: tuple[str, ...]


def lay_out(
    rows: Rows,
    types: Mapping[str, str],
    meanings: Mapping[str, str],
    requested: Sequence[str] = (),
    sized: Sized | None = None,
) -> Document:
    """``types`` and ``meanings`` are those of the columns, ``requested`` the columns that the user
    named, which are shown whether or not they say anything."""
    says = {name: any(row.get(name) not in (None, "") for row in rows) for name in types}
    failed = any(row["status"] != "ok" for row in rows)
    usual = [name for name in _SHOWN if says.get(name) and (name != "status" or failed)]
    first = [name for name in _SHOWN if name in usual or (name in requested and name in types)]
    shown = dict.fromkeys((*first, *(name for name in requested if name in types)))
    order = [*shown, *(name for name in types if name not in shown and says[name])]
    columns = tuple(
        GridColumn(name, types[name], meanings.get(name, ""), name in shown) for name in order
    )
    body = [tuple(row.get(name) for name in order) for row in rows]
    if sized is not None and sized.device and says.get("fits"):
        columns += (GridColumn(NEEDED, "int64", "bytes of the smallest card for it", shown=False),)
        body = [(*cells, _needed(row, sized.sizes)) for cells, row in zip(body, rows, strict=True)]
    charts = tuple(_charts(rows, order, sized))
    grid = Grid(columns, tuple(body), charts)
    blocks = (Facts(tuple(_facts(rows, types))), Chapter("models", "Models", (grid,)))
    count = f"{len(rows):,} model{'' if len(rows) == 1 else 's'}"
    return Document(f"Scan of {count}", blocks, None, verdict(rows, types, sized))


def _needed(row: Mapping[str, Cell], sizes: Mapping[str, int]) -> Cell:
    """Bytes of the smallest usual card that holds it, more than any where none does; of a model
    whose need has no limit its weights."""
    if row.get("fits") is None:
        return None
    card = sizes.get(str(row.get("smallest_card")))
    total = row.get("memory_total")
    if card is not None:
        return card
    if not isinstance(total, int):
        return row.get("memory_weights")
    return max(total, *sizes.values(), 0) + 1


def verdict(rows: Rows, types: Mapping[str, str], sized: Sized | None) -> str:
    """The answer in a line: what fits, or how much there is; and what is wrong."""
    read = [row for row in rows if row["status"] == "ok"]
    parts = []
    if sized is not None and sized.device and "fits" in types:
        answers = Counter(row["fits"] for row in read)
        parts.append(f"{answers[True]:,} fit on {sized.device}, {answers[False]:,} do not")
        parts += [f"{answers[None]:,} unknown"] if answers[None] else []
    else:
        parts.append(f"{len(read):,} read")
    if "audit_errors" in types:
        wrong = sum(bool(row["audit_errors"]) for row in read)
        parts.append(f"{wrong:,} with errors" if wrong else "no audit errors")
    failed = len(rows) - len(read)
    parts += [f"{failed:,} failed"] if failed else []
    return "; ".join(parts)


def _facts(rows: Rows, types: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, label, show in (
        ("parameters", "parameters", rounded_count),
        ("nbytes", "bytes", byte_size),
        ("memory_total", "memory", byte_size),
    ):
        known = [value for row in rows if isinstance(value := row.get(name), int)]
        if name in types and known:
            models = f"{len(known):,} model{'' if len(known) == 1 else 's'}"
            yield label, f"{show(min(known))} to {show(max(known))}, {models}, sum {sum(known):,}"
    kinds = Counter(str(row["error_kind"]) for row in rows if row["status"] != "ok")
    if kinds:
        yield "failed", ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    codes = Counter(code for row in rows for code in str(row.get("audit_codes") or "").split())
    if codes:
        shown = [f"{code} in {count:,}" for code, count in codes.most_common()]
        yield "audit", first_of(shown, 8, "more rules")


def _charts(rows: Rows, names: Sequence[str], sized: Sized | None) -> Iterator[Chart]:
    if sized is not None and sized.device and "fits" in names:
        answers = (Bar("fits", 1, None), Bar("does not fit", 0, 1), Bar("unknown", None, None))
        yield Chart(f"On {sized.device}", "fits", answers)
        cards = sorted((sized.sizes[name], name) for name in sized.cards)
        holding = [Bar(f"up to {name}, {byte_size(size)}", 0, size + 1) for size, name in cards]
        if holding:
            yield Chart(
                "Smallest card that holds it", NEEDED, (*holding, Bar("bytes unknown", None, None))
            )
    for name, title, show in (
        ("parameters", "Parameters", rounded_count),
        ("nbytes", "Size of the weights", byte_size),
    ):
        known = [value for row in rows if isinstance(value := row.get(name), int)]
        if name in names and known:
            ranges = [
                Bar(f"{_round(show(low))} to {_round(show(high))}", low, high)
                for low, high in _bins(known)
            ]
            ranges += [Bar("unknown", None, None)] if len(known) < len(rows) else []
            yield Chart(title, name, tuple(ranges))


def _round(text: str) -> str:
    """``2 GB`` for ``2.00 GB``: bounds are round."""
    number, _, unit = text.partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}".rstrip()


def _bins(values: Sequence[int]) -> list[tuple[int, int]]:
    """Ranges between round bounds that hold every value, none empty at the ends."""
    low = min(values)
    high = max(values)
    inner = [bound for bound in _BOUNDS if low < bound <= high]
    first = max((bound for bound in _BOUNDS if bound <= low), default=0)
    last = next((bound for bound in _BOUNDS if bound > high), high + 1)
    return list(pairwise([first, *inner, last]))
