"""Dim: an int that remembers the expression it came from.

A shape made of Dims is at once a shape and its own derivation: ``Linear(h, 3 * h)`` knows that its
weight has ``3·h·h`` elements because ``h`` knows that it is ``hidden_size``.

Expressions are small immutable trees.  Only the operations that occur in model definitions are
tracked (+, -, *, exact //); anything else gives a plain int, which then shows as a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

#: Levels of an expression: a sum of more numbers, one a layer say, is known by its value alone.
#: Nobody reads such a sum, and whatever follows it recurses: taking apart one of 10,000 levels ends
#: a page's Python.
MAX_EXPRESSION: Final = 200


@dataclass(frozen=True, slots=True)
class Symbol:
    """A config key, or a quantity derived from several with a definition in words.

    ``value`` is the number it stood for when it was read; formulas show and compare it.
    """

    name: str
    definition: str | None = None
    value: int | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that stands in the model's own code."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Binary:
    """``left op right`` with op one of ``+ - * //``; ``levels`` of these are in each other."""

    op: str
    left: Expr
    right: Expr
    levels: int = field(default=1, compare=False, repr=False)

    def __str__(self) -> str:
        left = str(self.left)
        right = str(self.right)
        if _PRECEDENCE[self.op] > _precedence(self.left):
            left = f"({left})"
        if _PRECEDENCE[self.op] >= _precedence(self.right) and not _joins(self.op, self.right):
            right = f"({right})"
        return f"{left} {self.op} {right}"


Expr = Symbol | Constant | Binary
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "//": 2}


def _joins(op: str, right: Expr) -> bool:
    """Whether ``right`` needs no brackets after ``op``: a sum in a sum, a product in a product.

    Not a product that begins with a quotient: a * (b // c * d) is not a * b // c * d.
    """
    if not isinstance(right, Binary) or op not in "+*" or right.op != op:
        return False
    first = right.left
    while isinstance(first, Binary) and first.op == op:
        first = first.left
    return op == "+" or not (isinstance(first, Binary) and first.op == "//")


def _precedence(expr: Expr) -> int:
    return _PRECEDENCE[expr.op] if isinstance(expr, Binary) else 3


def symbols(expr: Expr) -> Iterator[Symbol]:
    """Every symbol in the expression, left to right, repetitions included."""
    if isinstance(expr, Symbol):
        yield expr
    elif isinstance(expr, Binary):
        yield from symbols(expr.left)
        yield from symbols(expr.right)


class Dim(int):
    """An int with an expression.

    >>> h = Dim(2048, "hidden_size")
    >>> d = 3 * h
    >>> int(d), str(d.expr)
    (6144, '3 * hidden_size')
    """

    expr: Expr

    def __new__(
        cls, value: int, expr: Expr | str | None = None, *, definition: str | None = None
    ) -> Dim:
        """``definition`` says in words how a derived symbol is computed, for people to read."""
        self = super().__new__(cls, value)
        if expr is None:
            self.expr = Constant(int(value))
        elif isinstance(expr, str):
            self.expr = Symbol(expr, definition, int(value))
        else:
            self.expr = expr
        return self

    def __add__(self, other: int) -> Dim:
        if not isinstance(other, int):
            return NotImplemented  # a float makes a plain float
        return _dim(int(self) + int(other), "+", self.expr, expr_of(other))

    def __radd__(self, other: int) -> Dim:
        if not isinstance(other, int):
            return NotImplemented  # a float makes a plain float
        return _dim(int(other) + int(self), "+", expr_of(other), self.expr)

    def __sub__(self, other: int) -> Dim:
        if not isinstance(other, int):
            return NotImplemented  # a float makes a plain float
        return _dim(int(self) - int(other), "-", self.expr, expr_of(other))

    def __rsub__(self, other: int) -> Dim:
        if not isinstance(other, int):
            return NotImplemented  # a float makes a plain float
        return _dim(int(other) - int(self), "-", expr_of(other), self.expr)

    def __mul__(self, other: int) -> Dim:
        if not isinstance(other, int):
            return NotImplemented  # a float makes a plain float
        return _dim(int(self) * int(other), "*", self.expr, expr_of(other))

    def __rmul__(self, other: int) -> Dim:
        if not isinstance(other, int):
            return NotImplemented  # a float makes a plain float
        return _dim(int(other) * int(self), "*", expr_of(other), self.expr)

    def __floordiv__(self, other: int) -> Dim:
        if not isinstance(other, int):
            return NotImplemented  # a float makes a plain float
        return _dim(int(self) // int(other), "//", self.expr, expr_of(other))

    def __rfloordiv__(self, other: int) -> Dim:
        if not isinstance(other, int):
            return NotImplemented  # a float makes a plain float
        return _dim(int(other) // int(self), "//", expr_of(other), self.expr)

    def __repr__(self) -> str:
        # A Dim is shown and serialised as the number it is.
        return int.__repr__(self)

    def __reduce__(self) -> tuple[object, ...]:
        return (Dim, (int(self), self.expr))


def _dim(value: int, op: str, left: Expr, right: Expr) -> Dim:
    levels = 1 + max(_levels(left), _levels(right))
    return Dim(value, Binary(op, left, right, levels) if levels <= MAX_EXPRESSION else None)


def _levels(expr: Expr) -> int:
    return expr.levels if isinstance(expr, Binary) else 0


def expr_of(value: int) -> Expr:
    """The expression of a Dim, or the number itself as a constant."""
    return value.expr if isinstance(value, Dim) else Constant(int(value))


def named(value: int, name: str, definition: str) -> Dim:
    """A derived quantity as a symbol of its own: where a formula would not help the reader,
    as in ``intermediate_size`` rounded up to a multiple of 256."""
    return Dim(value, name, definition=definition)
