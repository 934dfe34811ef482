"""A verdict from bounds: what is not known exactly lies between a least and a most.

Numbers in, a verdict out; nothing is read here. A case is one reading of what is not known, such as
the width of weights whose config names no dtype. Every case that fits makes ``fits``, none that can
fit makes ``does not fit``, all else ``depends``, with the cases by name.
"""

from collections.abc import Sequence
from typing import Final

from ..core.fitting import DEPENDS, DOES_NOT_FIT, FITS, Verdict
from ..core.records import dataclass

_WORDS: Final = {True: "yes", False: "no", None: "perhaps"}


@dataclass(frozen=True)
class Case:
    """One reading of what is not known: at least and at most so many bytes on one device.

    Fields:
        name: of the reading, as a verdict spells it; empty for the only one
        least [bytes]: on one device
        most [bytes]: on one device; None where no limit is known
    """

    name: str
    least: int
    most: int | None

    def fits_in(self, capacity: int) -> bool | None:
        """Whether a device holds it; None where the bounds do not say."""
        if self.least > capacity:
            return False
        return True if self.most is not None and self.most <= capacity else None


def decide(capacity: int, cases: Sequence[Case], why: str = "") -> Verdict:
    """The verdict over all cases, from the narrowest to the widest. ``why`` says what a single case
    depends on."""
    amounts = [case.fits_in(capacity) for case in cases]
    most = None if any(case.most is None for case in cases) else max(c.most or 0 for c in cases)
    least = min(case.least for case in cases)
    if all(answer is True for answer in amounts):
        return Verdict(FITS, FITS, least, most, capacity)
    if all(answer is False for answer in amounts):
        return Verdict(DOES_NOT_FIT, DOES_NOT_FIT, least, most, capacity)
    answers = [(c.name, a) for c, a in zip(cases, amounts, strict=True) if c.name]
    text = ", ".join(f"{name} {_WORDS[answer]}" for name, answer in _turning(answers)) or why
    return Verdict(DEPENDS, f"{DEPENDS}: {text}", least, most, capacity)


def _turning(cases: list[tuple[str, bool | None]]) -> list[tuple[str, bool | None]]:
    """The cases where the answer turns: the widest that fits, all that are open, and the narrowest
    that does not."""
    answers = [answer for _, answer in cases]
    first = max((i for i, answer in enumerate(answers) if answer), default=0)
    last = next((i for i, answer in enumerate(answers) if answer is False), len(cases))
    return cases[first : last + 1]
