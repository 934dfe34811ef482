"""The size in a model's name, and which way of counting reaches it."""

import re
from collections.abc import Sequence
from decimal import Decimal

from ..core.alternative_counts import Candidate, NameSize

_UNITS = {"k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_NUMBER = r"\d{1,4}(?:\.\d{1,3})?"
#: 8x7B; 7b, 1.4B, 350M; 1b4 and 7b1 (BLOOM's way); a3b (active). Not part of a longer word.
_SIZE = re.compile(
    rf"(?<![a-z0-9.])(?:(?P<times>\d{{1,3}})x)?(?P<active>a)?(?P<size>{_NUMBER})(?P<unit>[kmbt])"
    r"(?P<tail>\d{1,2})?(?![a-z0-9])",
    re.IGNORECASE,
)


#: Counts that names of models never mean.
_UNUSUAL = frozenset({"norms left out", "biases left out"})
#: What names such as 8x7B count.
ONE_EXPERT = "if each layer had one expert"


def name_size_of(name: str, counts: Sequence[Candidate], active: int | None) -> NameSize | None:
    """The first size in a model's name, or None.

    ``counts`` are the ways to count, in order of preference; ``active`` serves names such as
    30B-A3B.
    """
    last = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    if last.lower() in ("config.json", "model.safetensors"):
        last = name.replace("\\", "/").rstrip("/").rsplit("/", 2)[-2]
    for match in _SIZE.finditer(last.replace("_", "-")):
        if match["active"]:
            continue
        usual = [count for count in counts if count.name not in _UNUSUAL]
        return _name_size(match, usual, active, last)
    return None


def _name_size(
    match: re.Match[str], counts: Sequence[Candidate], active: int | None, name: str
) -> NameSize:
    low, high, cut, size_text = _range(match)
    text = match[0]
    says = f"{size_text}"
    candidates = [count for count in counts if count.name != ONE_EXPERT]
    dense = [count for count in counts if count.name == ONE_EXPERT]
    if match["times"] and dense:
        candidates = dense + candidates
        says = f"{match['times']} experts of a {size_text} model"
    also = next((m for m in _SIZE.finditer(name.replace("_", "-")) if m["active"]), None)
    if also is not None and active is not None:
        active_low, _, active_cut, active_text = _range(also)
        fits = "reached" if active_low <= active < active_cut else "not reached"
        says += f", {active_text} active ({active:,} per token: {fits})"
        text += f"-{also[0]}"
    reached = tuple(c for c in candidates if low <= c.value < high)
    if not reached:  # 30B for 30.5: digits cut off
        high = cut
        reached = tuple(c for c in candidates if low <= c.value < high)
    middle = (low + high) // 2
    nearest = min(candidates, key=lambda c: abs(c.value - middle))
    return NameSize(text, low, high, says, reached, nearest)


def _range(match: re.Match[str]) -> tuple[int, int, int, str]:
    """Numbers that a name rounds to its own (7B: 6.5 up to 7.5 billion), the end of those that it
    cuts off to it (8.0), and the name's size as said."""
    unit = match["unit"].lower()
    digits = match["size"]
    if match["tail"] and "." not in digits:
        digits = f"{digits}.{match['tail']}"
    step = Decimal(1).scaleb(Decimal(digits).as_tuple().exponent)  # type: ignore[arg-type]
    if step == 1 and unit in "mk" and int(digits) % 10 == 0:
        step = Decimal(10)  # 110M and 350M are not meant to the million
    value = Decimal(digits)
    size = _UNITS[unit]
    low = value - step / 2
    high = value + step / 2
    cut = value + step
    return int(low * size), int(high * size), int(cut * size), f"{digits} {unit.upper()}"
