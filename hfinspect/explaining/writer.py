"""Polynomials as written formulas: which letter first, which term first, what is collected."""

from collections.abc import Mapping, Sequence

from ..core.formula import Formula, Op, Tree
from .polynomials import ONE, Monomial, Number, Polynomial, Quantity, joined, of_terms

#: Order of factors in a product and of terms in a sum, by letter; others come in between.
_FACTORS = "LEAGKVPTCNSp"
_TERMS = "VPTCLEAGKNSp"
_LAST = "HIDd"


class Writer:
    """Polynomials as formulas, in the letters given."""

    def __init__(self, letters: Mapping[Quantity, str]) -> None:
        self.letters = letters
        self.values = {letter: quantity.value for quantity, letter in letters.items()}

    def formula(self, polynomial: Polynomial) -> Formula:
        """Term by term: ``4·H² + 4·H``."""
        return Formula.of(self.tree(polynomial), self.values, polynomial.value)

    def collected(self, polynomial: Polynomial, by: Quantity | None) -> Formula:
        """By powers of one quantity: ``12·L·H² + (V + 13·L + 4)·H``."""
        if by is None:
            return self.formula(polynomial)
        powers: dict[int, dict[Monomial, Number]] = {}
        for key, coefficient in polynomial.terms.items():
            exponent = dict(key).get(by, 0)
            rest = tuple(item for item in key if item[0] != by)
            powers.setdefault(exponent, {})[rest] = coefficient
        parts: list[Tree] = []
        for exponent in sorted(powers, reverse=True):
            rest_sum = Polynomial(powers[exponent])
            if len(rest_sum.terms) == 1 or exponent <= 0:
                back = {joined(key, ((by, exponent),)): c for key, c in rest_sum.terms.items()}
                parts.extend(self._terms(of_terms(back)))
            else:
                power = _power(self.letters[by], exponent)
                parts.append(Op("*", (Op("+", tuple(self._terms(rest_sum))), power)))
        return Formula.of(_sum(parts), self.values, polynomial.value)

    def product(self, count: Polynomial, one: Polynomial, written: Formula) -> Formula:
        """``L·(12·H² + 13·H)``, where ``written`` is the formula of ``one``."""
        if len(count.terms) == len(one.terms) == 1:
            return self.formula(count * one)
        if count == ONE:
            return self.formula(one)
        tree = Op("*", (*_factors(self.tree(count)), *_factors(written.tree)))
        return Formula.of(tree, self.values, count.value * one.value)

    def tree(self, polynomial: Polynomial) -> Tree:
        factored = _common_factor(polynomial)
        if factored is None:
            return _sum(self._terms(polynomial))
        outer, inner = factored
        before = _factors(_sum(self._terms(outer)))
        return Op("*", (*before, Op("+", tuple(self._terms(inner)))))

    def _terms(self, polynomial: Polynomial) -> list[Tree]:
        def rank(item: tuple[Monomial, Number]) -> tuple[object, ...]:
            degree = sum(exponent for _, exponent in item[0])
            return -degree, sorted(_rank(self.letters[q], _TERMS) for q, _ in item[0])

        return [self._term(key, c) for key, c in sorted(polynomial.terms.items(), key=rank)]

    def _term(self, key: Monomial, coefficient: Number) -> Tree:
        ordered = sorted(key, key=lambda item: _rank(self.letters[item[0]], _FACTORS))
        over = [_power(self.letters[q], e) for q, e in ordered if e > 0]
        under = [_power(self.letters[q], -e) for q, e in ordered if e < 0]
        if coefficient.numerator != 1 or not over:
            over.insert(0, coefficient.numerator)
        if coefficient.denominator != 1:
            under.insert(0, coefficient.denominator)
        return Op("/", (_product(over), _product(under))) if under else _product(over)


def _common_factor(polynomial: Polynomial) -> tuple[Polynomial, Polynomial] | None:
    """``A·r·(d + e)`` for two terms that differ in one plain letter each; None for others."""
    if len(polynomial.terms) != 2 or set(polynomial.terms.values()) != {1}:
        return None
    left, right = (set(key) for key in polynomial.terms)
    common = left & right
    rests = (left - right, right - left)
    plain = all(len(rest) == 1 and next(iter(rest))[1] == 1 for rest in rests)
    if not common or not plain:
        return None
    inner = of_terms({tuple(rest): 1 for rest in rests})
    return of_terms({tuple(sorted(common)): 1}), inner


def _rank(letter: str, order: str) -> tuple[int, str]:
    base = letter[0]
    if base in _LAST:
        return 100 + _LAST.index(base), letter
    return (order.index(base) if base in order else 50), letter


def _power(letter: str, exponent: int) -> Tree:
    return letter if exponent == 1 else Op("^", (letter, exponent))


def _product(factors: Sequence[Tree]) -> Tree:
    return factors[0] if len(factors) == 1 else Op("*", tuple(factors))


def _factors(tree: Tree) -> tuple[Tree, ...]:
    return tree.args if isinstance(tree, Op) and tree.op == "*" else (tree,)


def _sum(terms: Sequence[Tree]) -> Tree:
    if not terms:
        return 0
    return terms[0] if len(terms) == 1 else Op("+", tuple(terms))
