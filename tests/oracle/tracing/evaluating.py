"""Expressions and conditions over the config of one build, as fast as thousands need it."""

from __future__ import annotations

import math
from ast import literal_eval
from collections.abc import Mapping
from functools import cache
from typing import Any

from hfinspect.core.config import ModelConfig
from hfinspect.errors import ConfigError
from hfinspect.trees.arithmetic import NoValueError, Written
from hfinspect.trees.backbone_stages import chosen_stages, stage_names

#: Keys that say which maps a backbone hands on.
HANDED = ("out_features", "out_indices")

Env = Mapping[str, Any]


class EnvValues:
    """An environment as expressions read it."""

    def __init__(self, env: Env, written: frozenset[str] = frozenset()) -> None:
        self.env = env
        self.written = written
        self.numbers = {
            k: v
            for k, v in env.items()
            if isinstance(v, (int, float, list)) and not isinstance(v, bool)
        }

    def number(self, key: str) -> int | float:
        value = self.env.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise NoValueError(f"{key} is no number")
        return value

    def items(self, key: str) -> list[Any]:
        value = self.env.get(key)
        if not isinstance(value, list):
            raise NoValueError(f"{key} is no list")
        return value

    def raw(self, key: str) -> Any:
        return self.env.get(key)

    def named(self, key: str) -> str:
        return key

    def chosen(self, place: int, count: int) -> bool:
        given = {key: self.env[key] for key in HANDED if key in self.written}
        try:
            return place in chosen_stages(ModelConfig(given), stage_names(count - 1))
        except ConfigError:
            raise NoValueError("is no stage") from None

    def has(self, key: str) -> bool:
        return key in self.written


def evaluated(written: Written, values: EnvValues) -> Any:
    """The number of an expression, None where it has none."""
    if isinstance(written, (str, list)):
        try:
            return _compiled(repr(written))(values.numbers)
        except (ArithmeticError, TypeError, IndexError, KeyError, ValueError):
            return None
    return written


@cache
def _compiled(text: str) -> Any:
    """The reader's arithmetic as one function: thousands of expressions are tried."""
    return eval(f"lambda e: {_python(literal_eval(text))}", {"math": math, "pair": _pair})


@cache
def as_function(text: str) -> Any:
    """A condition on a member's place as a function."""
    op, first, second = literal_eval(text)
    if op == "kind":
        made = f"e[{first!r}][i] == {second!r}"
    elif op == "in":
        made = f"i in e[{second!r}]"
    else:
        made = f"{_python(first)} {op} {_python(second)}"
    return eval(f"lambda e, i: bool({made})", {"math": math, "pair": _pair})


def _pair(pair: Any, side: int) -> Any:
    """The reader's ``pair``."""
    if not isinstance(pair, list):
        return pair
    if len(pair) != 2:
        raise ValueError
    return pair[side]


def _python(written: Written) -> str:
    if isinstance(written, str):
        return "i" if written == "i" else f"e[{written!r}]"
    if not isinstance(written, list):
        return repr(written)
    op, *terms = written
    texts = [_python(term) for term in terms]
    if op == "[]":
        return f"{texts[0]}[{texts[1]}]"
    if op == "pair":
        return f"pair({texts[0]}, {texts[1]})"
    if op in ("ceil", "floor", "sqrt", "log2"):
        return f"math.{op}({texts[0]})"
    if len(op) <= 2:
        return f"({op.join(texts)})"
    return f"{op}({', '.join(texts)})"
