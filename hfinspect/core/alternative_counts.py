"""Other counts next to the exact one of a derivation: the approximation 12·L·H², the size in the
name, what headers hold, and the number that ``--against`` names, with the usual ways to count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from .formula import Formula
from .json_form import JsonForm
from .records import dataclass


@dataclass(frozen=True)
class Approximation(
    JsonForm,
    without="total",
    names={"rest": "left_over_formula"},
    after={"left_over": "non_embedding"},
):
    """The estimate ``12·L·H²`` and its remainder: total − embedding − 12·L·H².

    Fields:
        formula: 12·L·H²
        embedding [parameters]: unique ones of embeddings
        non_embedding [parameters]: all others
        total [parameters]: the exact count
        rest: what is left over, as a formula; None where it is too long
    """

    formula: Formula
    embedding: int
    non_embedding: int
    total: int
    rest: Formula | None

    @property
    def left_over(self) -> int:
        """What neither embeddings nor the formula explain."""
        return self.total - self.embedding - self.formula.value


@dataclass(frozen=True)
class Candidate(JsonForm, names={"name": "convention", "value": "parameters"}):
    """A way to count, and the resulting number.

    Fields:
        name: the way to count
        value [parameters]: the resulting number
    """

    name: str
    value: int


@dataclass(frozen=True)
class KnownModel(Candidate, names={"name": "model", "value": "parameters"}):
    """A well-known model.

    Fields:
        name: its name
        value [parameters]: its size
    """


@dataclass(frozen=True)
class NameSize(JsonForm, after={"says": "text"}):
    """A size in the model's name.

    Fields:
        text: as the name has it, such as ``7B``
        low [parameters]: the smallest count that rounds to it
        high [parameters]: the smallest larger count that does not
        says: what the size in the name means
        reached: the counts that round to it
        nearest: the one that comes closest, where none rounds to it
    """

    text: str
    low: int
    high: int
    says: str
    reached: tuple[Candidate, ...]
    nearest: Candidate


@dataclass(frozen=True)
class TensorDifference(JsonForm):
    """A tensor in a file that is not predicted (positive), or the reverse (negative).

    Fields:
        tensor: its name
        reason: why it differs
        parameters [parameters]: held minus predicted
    """

    tensor: str
    reason: str
    parameters: int


@dataclass(frozen=True)
class Measurement(
    JsonForm,
    after={
        "holds_all_files": "components",
        "unexplained": "holds_all_files",
        "differences": "unexplained",
    },
):
    """The headers next to the derivation.

    Fields:
        parameters [parameters]: unique ones in the headers; None where a packing is unknown
        components [parameters]: by component
        differences: tensors that differ
        unexplained [parameters]: that the differences, tensor by tensor, do not account for; None
            if unknown
        holds_all_files: False if a shard is missing
    """

    parameters: int | None
    components: Mapping[str, int | None] = field(hash=False)
    differences: tuple[TensorDifference, ...]
    unexplained: int | None
    holds_all_files: bool = True


@dataclass(frozen=True)
class Convention(JsonForm):
    """A common way to count differently, and its difference from the exact total.

    Fields:
        name: the way to count
        text: what it does, in a few words
        delta: the difference as a formula; None if it is too long
        value [parameters]: the difference, negative if it subtracts
    """

    name: str
    text: str
    delta: Formula | None
    value: int


@dataclass(frozen=True)
class Term(JsonForm, names={"text": "term"}):
    """One monomial of a closed form: its coefficient in the right one and in the other.

    Fields:
        text: the monomial
        value: what it stands for
        right: its coefficient in the exact closed form
        other: its coefficient in the other one
    """

    text: str
    value: int
    right: str
    other: str


@dataclass(frozen=True, kw_only=True)
class Against(
    JsonForm,
    without="fits",
    names={"closed": "closed_form", "other": "other_form"},
    after={"rounds_from": "number", "rounds_to": "rounds_from"},
):
    """``--against``: the smallest sets of conventions that lead from the exact total to a number.

    Fields:
        text: the number as it was written
        number [parameters]: the count that was given
        fits [parameters]: the smallest count that rounds to it, the next that does not
        difference [parameters]: given minus exact
        readings: the smallest sets of conventions that lead to it; empty where none was found
        searched [conventions]: number of conventions that were tried
        at_most [conventions]: largest number that was combined
        closed: the exact closed form; None where it is too long
        other: the closed form of the other count in the same letters, or None
        terms: the terms in which the two closed forms differ
        known: a well-known model of this size, for a rounded count without a reading
    """

    text: str
    number: int
    fits: tuple[int, int]
    difference: int
    readings: tuple[tuple[Convention, ...], ...]
    searched: int
    at_most: int
    closed: Formula | None = None
    other: Formula | None = None
    terms: tuple[Term, ...] = ()
    known: KnownModel | None = None

    @property
    def rounded(self) -> bool:
        return self.fits[1] - self.fits[0] > 1

    @property
    def agrees(self) -> bool:
        """Whether the exact total equals the given count."""
        return self.fits[0] <= self.number - self.difference < self.fits[1]

    @property
    def rounds_from(self) -> int:
        """The smallest count that rounds to it."""
        return self.fits[0]

    @property
    def rounds_to(self) -> int:
        """The largest count that rounds to it."""
        return self.fits[1] - 1
