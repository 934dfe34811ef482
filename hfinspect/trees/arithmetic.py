"""Small arithmetic over config keys, as traces write it down.

An expression is an integer, a key (``hidden_size``, dotted for a section's), ``i`` (the number of
a list's member), the name that a list gives that number for all that is inside (``stage``), or a
list of an operator and what it takes::

    ["*", "num_heads", ["+", "nope_head_dim", "rope_head_dim"]]     ["[]", "hidden_sizes", 2]

``["pair", "image_size", 1]`` is the second of two sides, which configs give as one number or two.

A condition is a list as well: ``["true", "use_bias"]``, ``["null", "head_dim"]``,
``["==", "hidden_act", "gelu"]``, ``["<", "i", "first_k_dense"]``, ``["in", "i", "attn_layers"]``,
``["and", a, b]``, ``["not", a]``; ``["given", "vision_config"]`` says that a key is written down;
``["kind", "layer_types", "full", i]`` that the list's entry there (``i`` may be left out) is that;
``["has", "pos_att_type", "c2p"]`` that a list has the word, or a text with bars between its words;
``["chosen", "stage", 5]`` that a backbone of five maps hands that one on (``out_features``).
Sums, products and quotients of Dims are Dims, so that a formula shows the config's own letters;
what else comes out gets its expression as a name.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..core.config import MAX_DIM
from ..core.dims import Dim

#: An expression or a condition, as JSON has it.
Written = Any
#: Deeper than any constructor computes; a trace that is deeper is refused, not followed.
MAX_DEPTH = 40


class Values(Protocol):
    """What an expression reads."""

    def number(self, key: str) -> int | float: ...
    def items(self, key: str) -> list[Any]: ...
    def raw(self, key: str) -> Any: ...
    def has(self, key: str) -> bool: ...
    def chosen(self, place: int, count: int) -> bool:
        """Whether a backbone of so many maps, that of the stem first, hands this one on."""
        ...

    def named(self, key: str) -> str:
        """The key as the whole config has it: that of a section with the section before it."""
        ...


class NoValueError(ValueError):
    """An expression has no value: it divides by zero, or leaves the range of sizes. ``key`` is the
    first that it is computed from and config.json has, if any."""

    def __init__(self, problem: str, *, key: str | None = None) -> None:
        super().__init__(problem)
        self.key = key


_EXACT: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
}
_OTHER: Mapping[str, Callable[..., Any]] = {
    "%": operator.mod,
    "/": operator.truediv,
    "max": max,
    "min": min,
    "int": int,
    "ceil": math.ceil,
    "floor": math.floor,
    "round": round,
    "sqrt": math.sqrt,
    "log2": math.log2,
    "float": float,
}
_TWO = frozenset({"%", "/", *_EXACT})
_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
}


def value(written: Written, values: Values, i: int | None = None, depth: int = 0) -> int | float:
    """The number of an expression. Raises NoValueError; what ``values`` raises passes."""
    if isinstance(written, bool) or depth > MAX_DEPTH:
        raise NoValueError("is not an expression")
    if isinstance(written, (int, float)):
        return written
    if isinstance(written, str):
        return _index(i) if written == "i" else values.number(written)
    if not isinstance(written, list) or not written or not isinstance(written[0], str):
        raise NoValueError("is not an expression")
    op, *arguments = written
    if op == "pair":
        return _of_pair(arguments, values)
    if op in ("[]", "len", "sum"):
        return _of_list(op, arguments, values, i, depth)
    terms = [value(argument, values, i, depth + 1) for argument in arguments]
    return _applied(op, terms, written)


def _applied(op: str, terms: list[int | float], written: Written) -> int | float:
    if op == "**":
        return _power(terms, written)
    apply = _EXACT.get(op) or _OTHER.get(op)
    if (
        apply is None
        or not terms
        or ((op in _TWO) != (len(terms) == 2) and op not in ("max", "min"))
    ):
        raise NoValueError("is not an expression")
    try:
        result = apply(*terms)
    except (ArithmeticError, ValueError, TypeError) as error:
        raise NoValueError(f"has no value ({error})") from None
    if not abs(result) <= MAX_DIM**2:
        raise NoValueError("is larger than any size")
    if isinstance(result, (float, Dim)):
        return result
    return Dim(result, text_of(written)) if any(isinstance(t, Dim) for t in terms) else int(result)


def _power(terms: list[int | float], written: Written) -> int | float:
    """A size times itself stays a product of sizes, so that its formula has the power."""
    if len(terms) != 2 or not (0 <= terms[1] <= 64 and abs(terms[0]) <= MAX_DIM):
        raise NoValueError("is larger than any size")
    base, exponent = terms
    result = base**exponent
    if isinstance(result, float):
        return result
    if isinstance(base, Dim) and exponent in (2, 3):
        return base * base if exponent == 2 else base * base * base
    return Dim(result, text_of(written)) if any(isinstance(t, Dim) for t in terms) else int(result)


def _index(i: int | None) -> int:
    if i is None:
        raise NoValueError("stands in no list")
    return i


def _of_pair(arguments: list[Any], values: Values) -> int | float:
    if len(arguments) != 2 or not isinstance(arguments[0], str) or arguments[1] not in (0, 1):
        raise NoValueError("is not an expression")
    pair = values.raw(arguments[0])
    if not isinstance(pair, (list, tuple)):
        return values.number(arguments[0])
    if len(pair) != 2:
        raise NoValueError(f"has not two sides in {arguments[0]}", key=arguments[0])
    return _of_list("[]", arguments, values, None, 0)


def _of_list(
    op: str, arguments: list[Any], values: Values, i: int | None, depth: int
) -> int | float:
    if not arguments or not isinstance(arguments[0], str):
        raise NoValueError("is not an expression")
    items = values.items(arguments[0])
    if op == "len":
        return Dim(len(items), f"len({values.named(arguments[0])})")
    if op == "sum":
        return _applied("+", [0, sum(items)], arguments)
    place = int(value(arguments[1] if len(arguments) == 2 else None, values, i, depth + 1))
    if not -len(items) <= place < len(items):
        raise NoValueError(f"has no entry {place} of {arguments[0]}", key=arguments[0])
    item = items[place]
    if isinstance(item, bool) or not isinstance(item, (int, float)):
        raise NoValueError(f"finds no number in {arguments[0]}", key=arguments[0])
    shown = place if place >= 0 else len(items) + place
    return item if isinstance(item, float) else Dim(item, f"{values.named(arguments[0])}[{shown}]")


def holds(written: Written, values: Values, i: int | None = None, depth: int = 0) -> bool:
    """Whether a condition is met. Raises NoValueError; what ``values`` raises passes."""
    if depth > MAX_DEPTH or not isinstance(written, list) or len(written) < 2:
        raise NoValueError("is not a condition")
    op, first, *rest = written
    if op in ("and", "or"):
        parts = (holds(part, values, i, depth + 1) for part in (first, *rest))
        return all(parts) if op == "and" else any(parts)
    if op == "not":
        return not holds(first, values, i, depth + 1)
    if op in ("true", "null", "given"):
        if not isinstance(first, str):
            raise NoValueError("is not a condition")
        if op == "given":
            return values.has(first)
        flag = values.raw(first)
        if op == "null":
            return flag is None
        if isinstance(flag, (list, dict)):  # one flag for each member is another tree
            raise NoValueError(f"is computed from {first}, which is not a flag", key=first)
        return bool(flag)
    if op == "kind" and len(rest) == 2:
        i = int(value(rest.pop(), values, i, depth + 1))
    if len(rest) != 1:
        raise NoValueError("is not a condition")
    if op == "chosen":
        place, count = (_side(part, values, i, depth) for part in (first, rest[0]))
        return values.chosen(int(place), int(count))
    if op == "in":
        return bool(_side(first, values, i, depth) in values.items(rest[0]))
    if op == "is":
        return bool(values.raw(first) == rest[0])
    if op == "has":
        return rest[0] in _words(values.raw(first))
    if op == "kind":
        return bool(_entry(values.items(first), i) == rest[0])
    compare = _COMPARED.get(op)
    if compare is None:
        raise NoValueError("is not a condition")
    return compare(_side(first, values, i, depth), _side(rest[0], values, i, depth))


def _words(listed: object) -> Sequence[object]:
    if isinstance(listed, str):
        return [word.strip() for word in listed.lower().split("|")]
    return listed if isinstance(listed, (list, tuple)) else ()


def _side(written: Written, values: Values, i: int | None, depth: int) -> int | float:
    return value(written, values, i, depth + 1)


def _entry(items: list[Any], i: int | None) -> Any:
    place = _index(i)
    if not 0 <= place < len(items):
        raise NoValueError(f"has no entry {place}")
    return items[place]


def text_of(written: Written) -> str:
    """An expression as people read it."""
    if not isinstance(written, list):
        return str(written)
    op, *terms = written
    texts = [text_of(term) for term in terms]
    if op in ("[]", "pair"):
        return f"{texts[0]}[{texts[1]}]"
    if op in _TWO or op == "**":
        return "(" + f" {op} ".join(texts) + ")"
    return f"{op}({', '.join(texts)})"
