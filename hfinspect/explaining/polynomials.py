"""Counts as polynomials: from the expressions in shapes to the form a person would write.

A polynomial's unknowns are quantities: config keys, or numbers derived from them, each with the
value that it stands for.  Exponents may be negative where a division is exact, so that
``heads · (hidden / heads)`` cancels.  Whatever cannot be kept exact becomes a plain number or a
quantity of its own; a polynomial's value is always that of the shape it came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import NamedTuple

from ..core.dims import Binary, Constant, Expr, Symbol, expr_of
from ..core.records import dataclass

#: More terms than this are no formula for people; products beyond it are kept as plain numbers.
MAX_TERMS = 64


class Quantity(NamedTuple):
    """An unknown: a config key or derived name, its number, and how it is derived (in words, or
    as the quotient of two others)."""

    name: str
    value: int
    definition: str = ""
    quotient: tuple[Quantity, ...] = ()


Monomial = tuple[tuple[Quantity, int], ...]
Number = int | Fraction


@dataclass(frozen=True)
class Polynomial:
    """Monomial -> coefficient, without zeros, in no particular order."""

    terms: Mapping[Monomial, Number]

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __add__(self, other: Polynomial) -> Polynomial:
        return total((self, other))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return total((self, other.times(-1)))

    def __mul__(self, other: Polynomial) -> Polynomial:
        if len(self.terms) * len(other.terms) > MAX_TERMS:
            return number(self.value * other.value)
        terms: dict[Monomial, Number] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                key = joined(left, right)
                terms[key] = terms.get(key, 0) + a * b
        return of_terms(terms)

    def times(self, factor: Number) -> Polynomial:
        return of_terms({key: factor * c for key, c in self.terms.items()})

    @cached_property
    def value(self) -> int:
        """The number it stands for. Exact."""
        assert self.exact.denominator == 1
        return int(self.exact)

    @cached_property
    def exact(self) -> Fraction:
        """The same where sizes may not divide, as under another convention."""
        return sum((c * monomial_value(key) for key, c in self.terms.items()), Fraction(0))

    def quantities(self) -> Iterator[Quantity]:
        """Every unknown, repetitions included."""
        for key in self.terms:
            yield from (quantity for quantity, _ in key)

    def replaced(self, old: Quantity, new: Polynomial) -> Polynomial:
        """``new`` in place of every positive power of ``old``; values should be equal."""
        parts = []
        for key, coefficient in self.terms.items():
            exponent = dict(key).get(old, 0)
            rest = tuple(item for item in key if item[0] != old or exponent < 0)
            part = Polynomial({rest: coefficient})
            for _ in range(exponent):
                part = part * new
            parts.append(part)
        return total(parts)


def of_terms(terms: Mapping[Monomial, Number]) -> Polynomial:
    return Polynomial({key: _plain(c) for key, c in terms.items() if c})


def _plain(value: Number) -> Number:
    return int(value) if value.denominator == 1 else value


def number(value: int) -> Polynomial:
    """A plain number."""
    return Polynomial({(): value} if value else {})


def unknown(quantity: Quantity) -> Polynomial:
    return Polynomial({((quantity, 1),): 1})


ZERO = number(0)
ONE = number(1)


def total(parts: Iterable[Polynomial]) -> Polynomial:
    """The sum of any number of polynomials."""
    terms: dict[Monomial, Number] = {}
    for part in parts:
        for key, coefficient in part.terms.items():
            terms[key] = terms.get(key, 0) + coefficient
    return of_terms(terms)


def joined(left: Monomial, right: Monomial) -> Monomial:
    exponents = dict(left)
    for quantity, exponent in right:
        exponents[quantity] = exponents.get(quantity, 0) + exponent
    return tuple(sorted((q, e) for q, e in exponents.items() if e))


def monomial_value(key: Monomial) -> Fraction:
    over = prod(q.value**e for q, e in key if e > 0)
    under = prod(q.value**-e for q, e in key if e < 0)
    return Fraction(over, under)


# ---- from expressions


def of_shape(shape: Sequence[int]) -> Polynomial:
    """The number of elements of a shape, as a polynomial in the quantities of its Dims."""
    product = ONE
    for size in shape:
        product = product * of_size(size)
    return product


def of_size(size: int) -> Polynomial:
    """One dimension. Where its expression does not come to its value, the plain number."""
    polynomial = _of_expr(expr_of(size))
    return (
        polynomial
        if polynomial is not None and polynomial.value == int(size)
        else number(int(size))
    )


def _of_expr(expr: Expr) -> Polynomial | None:
    if isinstance(expr, Constant):
        return number(expr.value)
    if isinstance(expr, Symbol):
        if not expr.value:  # unknown, or zero: a factor that makes everything vanish
            return None if expr.value is None else ZERO
        return unknown(Quantity(expr.name, expr.value, expr.definition or ""))
    left = _of_expr(expr.left)
    right = _of_expr(expr.right)
    if left is None or right is None:
        return None
    if expr.op == "+":
        return left + right
    if expr.op == "-":
        return left - right
    if expr.op == "*":
        return left * right
    return _quotient(expr, left, right)


def _quotient(expr: Binary, left: Polynomial, right: Polynomial) -> Polynomial | None:
    if right.value == 0:
        return None
    if left == right:
        return ONE
    if len(right.terms) == 1:
        ((key, coefficient),) = right.terms.items()
        inverse = tuple((quantity, -exponent) for quantity, exponent in key)
        parts = {
            joined(term, inverse): Fraction(c) / Fraction(coefficient)
            for term, c in left.terms.items()
        }
        # Term by term the division has to be exact, else the whole and its floor differ in form.
        if all((monomial_value(term) * c).denominator == 1 for term, c in parts.items()):
            return of_terms(parts)
    value = left.value // right.value
    rounding = "" if left.value % right.value == 0 else ", rounded down"
    return unknown(Quantity(str(expr), value, f"{expr}{rounding}")) if value else ZERO


#: What a quotient of two keys is called: last part of the divisor's key -> (those of dividends,
#: name).
_WIDTHS: dict[str, tuple[frozenset[str], str]] = {
    **dict.fromkeys(
        """num_attention_heads n_head n_heads num_heads attention_heads encoder_attention_heads
        decoder_attention_heads""".split(),
        (
            frozenset({"hidden_size", "n_embd", "n_embed", "d_model", "dim", "embed_dim"}),
            "head_dim",
        ),
    ),
    "patch_size": (frozenset({"image_size"}), "patches_per_side"),
}


def with_widths(polynomial: Polynomial) -> Polynomial:
    """Quotients left over that have a name of their own, such as ``hidden / heads``, under it."""
    terms = []
    for key, coefficient in polynomial.terms.items():
        exponents = dict(key)
        for under, exponent in key:
            if exponent < 0:
                _name_quotient(exponents, under)
        left = tuple(sorted((q, e) for q, e in exponents.items() if e))
        terms.append(Polynomial({left: coefficient}))
    return total(terms)


def _name_quotient(exponents: dict[Quantity, int], under: Quantity) -> None:
    dividends, name = _WIDTHS.get(under.name.rsplit(".", 1)[-1], (frozenset(), ""))
    for over, exponent in list(exponents.items()):
        times = min(exponent, -exponents[under])
        fits = over.name.rsplit(".", 1)[-1] in dividends and over.value % under.value == 0
        if times > 0 and fits:
            width = Quantity(name, over.value // under.value, quotient=(over, under))
            exponents[over] -= times
            exponents[under] += times
            exponents[width] = exponents.get(width, 0) + times
            return
