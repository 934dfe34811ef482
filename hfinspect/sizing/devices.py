"""Accelerators: how much memory a device has, by its name or as a size a user writes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from ..core.records import dataclass
from ..errors import UsageError

_MIB: Final = 1024**2

#: Name -> MiB in all, as the driver reports it (``nvidia-smi`` memory.total, ``rocm-smi``): in
#: binary units, and a little less than the number on the box.
CARDS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "T4": 15360, "V100": 16384, "V100 32GB": 32768, "A10": 23028, "A10G": 23028, "L4": 23034,
        "A30": 24576, "A40": 46068, "L40": 46068, "L40S": 46068, "A100": 40960,
        "A100 80GB": 81920, "H100": 81559, "H200": 143771, "B200": 183359,
        "RTX 3060": 12288, "RTX 3080": 10240, "RTX 3090": 24576, "RTX 4060": 8188,
        "RTX 4060 Ti 16GB": 16380, "RTX 4070": 12282, "RTX 4080": 16376, "RTX 4090": 24564,
        "RTX 5080": 16303, "RTX 5090": 32607, "RTX A4000": 16376, "RTX A5000": 24564,
        "RTX A6000": 49140, "RTX 6000 Ada": 49140, "MI250X": 65520, "MI300X": 196592,
    }
)  # fmt: skip

#: Name -> GB on the vendor's datasheet (for most cards GiB): what is nominal. The driver and error
#: correction take the difference. Sources: the vendors' datasheets of these products, such as
#: "NVIDIA H100 Tensor Core GPU", "GeForce RTX 4090", "AMD Instinct MI300X Accelerator".
NOMINAL: Final[Mapping[str, int]] = MappingProxyType(
    {
        "T4": 16, "V100": 16, "V100 32GB": 32, "A10": 24, "A10G": 24, "L4": 24, "A30": 24,
        "A40": 48, "L40": 48, "L40S": 48, "A100": 40, "A100 80GB": 80, "H100": 80, "H200": 141,
        "B200": 192, "RTX 3060": 12, "RTX 3080": 10, "RTX 3090": 24, "RTX 4060": 8,
        "RTX 4060 Ti 16GB": 16, "RTX 4070": 12, "RTX 4080": 16, "RTX 4090": 24, "RTX 5080": 16,
        "RTX 5090": 32, "RTX A4000": 16, "RTX A5000": 24, "RTX A6000": 48, "RTX 6000 Ada": 48,
        "MI250X": 64, "MI300X": 192,
    }
)  # fmt: skip

_UNITS: Final = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_SIZE: Final = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
#: More devices than any machine has; a larger number is a slip.
MAX_DEVICES: Final = 100_000


@dataclass(frozen=True)
class Device:
    """``count`` devices of ``nbytes`` bytes each. ``name`` is the card's, or what was written.
    ``whole`` are a device's bytes where an engine takes only ``nbytes`` of them."""

    name: str
    nbytes: int
    count: int = 1
    whole: int | None = None

    @property
    def total(self) -> int:
        """Bytes of all together."""
        return self.nbytes * self.count

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "nbytes": self.nbytes, "count": self.count}


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
    whole, _, fraction = number.partition(".")
    nbytes = (int(whole + fraction) * scale) // 10 ** len(fraction)
    return nbytes or None


def parse_device(text: str) -> Device:
    """``24GB``, ``24GiB``, ``2x80GB``, ``RTX 4090``, ``8xH100``. Raises UsageError, which names the
    nearest known card."""
    count, rest = 1, text.strip()
    many = re.fullmatch(r"(\d{1,6})\s*[x×*]\s*(.+)", rest, re.IGNORECASE)
    if many is not None:
        count, rest = int(many[1]), many[2].strip()
    if not 1 <= count <= MAX_DEVICES:
        raise UsageError(f"device {text!r}", f"names {count} devices", expected="1 or more")
    nbytes = parse_size(rest)
    if nbytes is not None and not rest.isdigit():
        return Device(rest, nbytes, count)
    known = {_plain(name): name for name in CARDS}
    name = known.get(_plain(rest))
    if name is None and nbytes is not None:
        raise UsageError(
            f"device {text!r}", "is a number without a unit", expected=f"{text}GB or {text}GiB",
            hint="GB is 10^9 bytes, GiB 2^30",
        )  # fmt: skip
    if name is None:
        nearest = difflib.get_close_matches(_plain(rest), known, n=1, cutoff=0.5)
        hint = f"the nearest known card is {known[nearest[0]]}" if nearest else None
        raise UsageError(
            f"device {text!r}", "is neither a size nor a known card",
            expected="24GB, 24GiB, 2x80GB or a name such as 'RTX 4090', H100", hint=hint,
        )  # fmt: skip
    return Device(name, CARDS[name] * _MIB, count)


def smallest_card(nbytes: int, usable: Callable[[int], int] = int) -> str | None:
    """The known card with the least memory that holds so many bytes; None if none does. ``usable``
    says how many of a card's bytes are taken."""
    fitting = [(size, name) for name, size in CARDS.items() if usable(size * _MIB) >= nbytes]
    return min(fitting)[1] if fitting else None


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
        raise UsageError(f"context {text!r}", "is no number of tokens", expected="4096, 32k, 1M")
    return value


def _plain(name: str) -> str:
    """RTX4090, rtx-4090 and NVIDIA RTX 4090 are the same card."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    for maker in ("nvidia", "geforce", "amd", "instinct"):
        plain = plain.removeprefix(maker)
    return plain
