"""Whether a device holds a model: yes, no, or what it depends on."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from .json_form import JsonForm
from .records import dataclass

FITS: Final = "fits"
DOES_NOT_FIT: Final = "does not fit"
DEPENDS: Final = "depends"


class NamedDevice(NamedTuple):
    """Devices as they were named.

    Fields:
        name: the card's, or what was written
        nbytes [bytes]: of one
        count [devices]: how many
    """

    name: str
    nbytes: int
    count: int  # type: ignore[assignment]  # in place of the method of tuples


@dataclass(frozen=True)
class Verdict(JsonForm):
    """Whether a device holds what is needed.

    Fields:
        answer: ``fits`` where ``most`` fits, ``does not fit`` where ``least`` does not, ``depends``
            in between
        text: the answer as a reader sees it, with what it depends on
        least [bytes]: that one device holds at least
        most [bytes]: that one device holds at most; None where no limit is known
        capacity [bytes]: of one device
    """

    answer: Literal["fits", "does not fit", "depends"]
    text: str
    least: int
    most: int | None
    capacity: int

    @property
    def fits(self) -> bool | None:
        """True, False, or None where it depends."""
        return {FITS: True, DOES_NOT_FIT: False}.get(self.answer)
