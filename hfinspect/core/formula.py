"""Formulas as people write them: ``4·H² + 4·H``, as text, in numbers and as a tree.

The written form is a small language: letters (``H``, ``d_k``), integers without separators,
``·`` for times, ``/``, `` + ``, `` − ``, superscript digits and parentheses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .json_form import JsonForm

_MINUS = "−"
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Op(JsonForm):
    """In JSON ``{"op": "*", "args": [4, {"op": "^", "args": ["H", 2]}]}``.

    Fields:
        op: ``+`` and ``*`` of two or more, ``^`` of a base and an exponent, ``/`` of two
        args: numbers, letters and operations
    """

    op: Literal["+", "*", "^", "/"]
    args: tuple[Tree, ...]


#: A number, a letter, or an operation.
Tree = int | str | Op


@dataclass(frozen=True)
class Formula(JsonForm):
    """One formula in three spellings, and its number.

    Fields:
        text: in letters, such as ``4·H² + 4·H``
        numbers: with the numbers in place of the letters
        value: the resulting number
        tree: as a tree of operations
    """

    text: str
    numbers: str
    value: int
    tree: Tree

    @classmethod
    def of(cls, tree: Tree, values: Mapping[str, int], value: int) -> Formula:
        """``values`` are the letters' numbers; ``value`` is what the formula comes to."""
        return cls(written(tree), written(substituted(tree, values)), value, tree)


def written(tree: Tree) -> str:
    """The tree as text."""
    if not isinstance(tree, Op):
        return str(tree).replace("-", _MINUS)
    if tree.op == "+":
        return _sum(tree.args)
    if tree.op == "*":
        minus = _MINUS if tree.args[0] == -1 else ""
        first, *rest = tree.args[1 if minus else 0 :]
        leading = str(first).replace("-", _MINUS) if isinstance(first, int) else _factor(first)
        return minus + "·".join((leading, *(_factor(arg) for arg in rest)))
    if tree.op == "^":
        base, exponent = tree.args
        inner = f"({written(base)})" if isinstance(base, Op) else _factor(base)
        return inner + str(exponent).translate(_SUPERSCRIPTS)
    over, under = tree.args
    wide = isinstance(under, Op) and under.op != "^"
    bottom = f"({written(under)})" if wide else _factor(under)
    return f"{_factor(over)}/{bottom}"


def _sum(args: tuple[Tree, ...]) -> str:
    text = written(args[0])
    for arg in args[1:]:
        shown = written(arg)
        text += f" {_MINUS} {shown[1:]}" if shown.startswith(_MINUS) else f" + {shown}"
    return text


def _factor(tree: Tree) -> str:
    negative = isinstance(tree, int) and tree < 0
    wide = negative or (isinstance(tree, Op) and tree.op == "+")
    return f"({written(tree)})" if wide else written(tree)


def substituted(tree: Tree, values: Mapping[str, int]) -> Tree:
    """The tree with numbers for letters."""
    if isinstance(tree, Op):
        return Op(tree.op, tuple(substituted(arg, values) for arg in tree.args))
    return values[tree] if isinstance(tree, str) else tree
