"""Accelerators: how much memory a device has, by its name or as a size a user writes."""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from ..core.json_form import JsonForm
from ..core.records import dataclass
from ..errors import UsageError
from .cards import Card, CardColumn, cards

_MIB: Final = 1024**2

#: Name -> MiB that a model may use, and GB by the datasheet (for most cards GiB).
CARDS: Final[Mapping[str, int]] = CardColumn(lambda card: card.nbytes // _MIB)
NOMINAL: Final[Mapping[str, int]] = CardColumn(lambda card: card.gb)

#: What ``--on`` takes to print the table.
LIST: Final = "list"

_UNITS: Final = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_SIZE: Final = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
#: More devices than any machine has; a larger number is a slip.
MAX_DEVICES: Final = 100_000


@dataclass(frozen=True)
class Device(JsonForm, without="capacity bandwidth"):
    """``count`` devices of ``nbytes`` bytes each. ``name`` is the card's, or what was written.
    ``capacity`` are its bytes where an engine takes only ``nbytes`` of them; ``bandwidth`` is
    that of a known card's memory, in bytes a second."""

    name: str
    nbytes: int
    count: int = 1
    capacity: int | None = None
    bandwidth: int | None = None

    @property
    def total(self) -> int:
        """Bytes of all together."""
        return self.nbytes * self.count


def parse_size(text: str) -> int | None:
    """Bytes of ``24GB`` (10^9), ``24GiB`` (2^30), ``24g`` (10^9) or ``1e`` no number: None."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    number, unit, binary = match.groups()
    if not unit:
        scale = 1 if not binary else 0
    else:
        power = " kmgt".index(unit.lower())
        scale = 1024**power if binary else _UNITS[unit.lower()]
    exact, _, fraction = number.partition(".")
    nbytes = (int(exact + fraction) * scale) // 10 ** len(fraction)
    return nbytes or None


def parse_device(text: str) -> Device:
    """``24GB``, ``24GiB``, ``2x80GB``, ``RTX 4090``, ``4090``, ``m3max-64gb``, ``8xH100``. Raises
    UsageError, which names the nearest known card."""
    count = 1
    rest = text.strip()
    card = _known().get(_plain(rest))  # before the x: 7900xtx is one card
    if card is not None:
        return Device(card.name, card.nbytes, bandwidth=card.bandwidth)
    many = re.fullmatch(r"(\d{1,6})\s*[x×*]\s*(.+)", rest, re.IGNORECASE)
    if many is not None:
        count = int(many[1])
        rest = many[2].strip()
    if not 1 <= count <= MAX_DEVICES:
        raise UsageError(f"device {text!r}", f"names {count} devices", expected="1 or more")
    nbytes = parse_size(rest)
    if nbytes is not None and not rest.isdigit():
        return Device(rest, nbytes, count)
    card = _known().get(_plain(rest))
    if card is None:
        raise _unknown(text, rest, is_number=nbytes is not None)
    return Device(card.name, card.nbytes, count, bandwidth=card.bandwidth)


@cache
def _known() -> Mapping[str, Card]:
    """Cards by every name that people write; a name in the table wins over an abbreviation."""
    by_name: dict[str, Card] = {}
    for card in cards().values():
        for short in _abbreviations(card):
            by_name.setdefault(short, card)
    return {**by_name, **{_plain(name): card for name, card in cards().items()}}


def _abbreviations(card: Card) -> Iterator[str]:
    plain = _plain(card.name)
    yield from card.aliases
    for series in ("rtx", "gtx", "rx", "quadrortx", "arc", "jetson", "tpu"):
        if plain.startswith(series):
            yield plain.removeprefix(series)
    yield f"{plain}{card.gb}gb"
    yield f"{plain.removeprefix('rtx').removeprefix('rx')}{card.gb}gb"


def _unknown(text: str, rest: str, *, is_number: bool) -> UsageError:
    plain = _plain(rest)
    sizes = [
        name for name in cards() if name.endswith("GB") and _plain(name.rpartition(" ")[0]) == plain
    ]
    if sizes:
        return UsageError(
            f"device {text!r}", "comes with several sizes of memory", expected=", ".join(sizes)
        )
    nearest = difflib.get_close_matches(plain, _known(), n=1, cutoff=0.5)
    hint = "'list' shows all names"
    if nearest:
        hint = f"the nearest known card is {_known()[nearest[0]].name}; {hint}"
    if is_number:
        return UsageError(
            f"device {text!r}",
            "has no unit and is not the name of a card",
            expected=f"{text}GB or {text}GiB",
            hint=f"GB is 10^9 bytes, GiB 2^30; {hint}",
        )
    return UsageError(
        f"device {text!r}",
        "is neither a size nor a known card",
        expected="24GB, 24GiB, 2x80GB or a name such as 'RTX 4090', H100",
        hint=hint,
    )


#: Numbers on boxes that are GiB.
_SOLD: Final = re.compile(r"(4|6|8|10|11|12|16|20|24|32|40|48|80|96) ?gb", re.IGNORECASE)


def sold_hint(device: Device) -> str:
    """Of a size in GB that cards are sold with: what those hold. Empty for others."""
    match = _SOLD.fullmatch(device.name.strip())
    if match is None:
        return ""
    gib = int(match[1]) * 2**30 / 10**9
    return (
        f"{device.name} is {int(match[1])}.0·10^9 bytes; cards that are sold as {match[1]} GB hold "
        f"{gib:.1f}·10^9: name the card, or write {match[1]}GiB"
    )


def smallest_card(holds: Callable[[Card], bool]) -> str | None:
    """The usual card with the least memory that holds what is asked; None if none does."""
    proposed = sorted((c for c in cards().values() if c.proposed), key=lambda c: (c.nbytes, c.name))
    return next((card.name for card in proposed if holds(card)), None)


def parse_tokens(text: str | int) -> int:
    """A number of tokens: 4096, ``4k`` (4,096: contexts are written in binary), ``128k``, ``1M``.

    Raises UsageError.
    """
    if isinstance(text, int) and not isinstance(text, bool):
        value = text
    else:
        match = re.fullmatch(r"(\d{1,12})\s*([km]?)", str(text).replace(",", "").strip().lower())
        value = int(match[1]) * {"": 1, "k": 1024, "m": 1024**2}[match[2]] if match else 0
    if value < 1 or value > 10**10:
        raise UsageError(f"context {text!r}", "is not a number of tokens", expected="4096, 32k, 1M")
    return value


#: Makers, series and memories that names may have or leave out.
_LEFT_OUT: Final = re.compile(
    r"\b(nvidia|geforce|amd|instinct|radeon|intel|google|apple|tesla|gpu|graphics|hbm[23]e?|sxm\d?"
    r"|oam)\b"
)
_MAKERS: Final = ("nvidia", "geforce", "amd", "instinct", "radeon", "tesla", "apple")


def _plain(name: str) -> str:
    """RTX4090, rtx-4090 and NVIDIA GeForce RTX 4090 are the same card."""
    words = re.sub(r"[^a-z0-9]+", " ", name[:200].lower()).replace("mobile", "laptop")
    plain = _LEFT_OUT.sub("", words).replace(" ", "")
    for maker in _MAKERS:
        plain = plain.removeprefix(maker)
    return plain
