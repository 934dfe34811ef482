"""Reading printed formulas back: a small evaluator of the written form, independent of what
writes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

_TOKEN = re.compile(r"\s*([0-9]+|[A-Za-z](?:_[a-z0-9]+)?|[⁰¹²³⁴⁵⁶⁷⁸⁹]+|[·/+−()])")
_POWERS = {ord(power): str(digit) for digit, power in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}


class _Reader:
    def __init__(self, text: str, values: Mapping[str, int]) -> None:
        self.tokens: list[str] = []
        self.values = values
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"{text!r} at {at}")
            self.tokens.append(match[1])
            at = match.end()
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def sum(self) -> Fraction:
        result = self.product()
        while self.peek() in ("+", "−"):
            sign = 1 if self.take() == "+" else -1
            result += sign * self.product()
        return result

    def product(self) -> Fraction:
        if self.peek() == "−":
            self.take()
            return -self.product()
        result = self.power()
        while self.peek() in ("·", "/"):
            if self.take() == "·":
                result *= self.power()
            else:
                result /= self.power()
        return result

    def power(self) -> Fraction:
        token = self.take()
        if token == "(":
            result = self.sum()
            assert self.take() == ")"
        elif token.isascii() and token.isdigit():
            result = Fraction(int(token))
        else:
            result = Fraction(self.values[token])
        if self.peek() and ord(self.peek()[0]) in _POWERS:
            result **= int(self.take().translate(_POWERS))
        return result


def value_of(text: str, values: Mapping[str, int] | None = None) -> Fraction:
    """What a printed formula comes to. KeyError names a letter without a value."""
    reader = _Reader(text, values or {})
    result = reader.sum()
    assert reader.at == len(reader.tokens), text
    return result


def value_of_tree(tree: Any, values: Mapping[str, int]) -> Fraction:
    """What the JSON form of a formula's tree comes to."""
    if isinstance(tree, int):
        return Fraction(tree)
    if isinstance(tree, str):
        return Fraction(values[tree])
    args = [value_of_tree(arg, values) for arg in tree["args"]]
    if tree["op"] == "+":
        return sum(args, Fraction(0))
    result = args[0]
    for arg in args[1:]:
        if tree["op"] == "*":
            result *= arg
        elif tree["op"] == "/":
            result /= arg
        else:
            result **= int(arg)
    return result
