"""Numbers that remember how they were computed, while a constructor runs.

They only *propose* expressions: what a trace says is what fits every build, so an expression that
is lost or wrong here costs a proposal and never an answer.
"""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Written = Any


class Noted:
    """What one run proposes: expressions computed, sizes of tensors made, comparisons."""

    def __init__(self) -> None:
        self.computed: dict[str, Written] = {}
        self.sizes: dict[str, Written] = {}
        self.compared: dict[str, Written] = {}
        self.words: dict[str, set[str]] = {}

    def compute(self, written: Written) -> None:
        if len(self.computed) < 5000:
            self.computed.setdefault(repr(written), written)


_noted = Noted()


def _written(x: Any) -> Written:
    return x.written if isinstance(x, (Int, Float)) else (x if type(x) is float else int(x))


def _size(written: Written) -> int:
    return 1 + sum(map(_size, written[1:])) if isinstance(written, list) else 1


def _made(x: Any, written: Written) -> Any:
    if _size(written) > 25:
        return x
    _noted.compute(written)
    return Int(x, written) if isinstance(x, builtins.int) else Float(x, written)


#: What leaves a number as it is.
_NEUTRAL = frozenset({(0, "+"), (0, "-"), (1, "*"), (1, "//")})


def _binary(op: str, apply: Any) -> tuple[Any, Any]:
    def forward(self: Any, other: Any) -> Any:
        if type(other) is bool or not isinstance(other, (builtins.int, builtins.float)):
            return NotImplemented
        value = apply(_bare(self), _bare(other))
        if type(other) is builtins.int and (other, op) in _NEUTRAL and type(value) is not float:
            return self
        return _made(value, [op, self.written, _written(other)])

    def backward(self: Any, other: Any) -> Any:
        if type(other) is bool or not isinstance(other, (builtins.int, builtins.float)):
            return NotImplemented
        if type(other) is builtins.int and (other, op) in ((0, "+"), (1, "*")):
            return self
        return _made(apply(_bare(other), _bare(self)), [op, _written(other), self.written])

    return forward, backward


def _compare(op: str, apply: Any, swap: bool = False) -> Any:
    def compare(self: Any, other: Any) -> bool:
        if isinstance(other, (builtins.int, builtins.float)) and type(other) is not bool:
            sides = [self.written, _written(other)]
            term = [op, *(sides[::-1] if swap else sides)]
            if len(_noted.compared) < 500:
                _noted.compared.setdefault(repr(term), term)
        return apply(_bare(self), _bare(other))  # type: ignore[no-any-return]

    return compare


def _bare(x: Any) -> Any:
    if isinstance(x, Int):
        return builtins.int.__int__(x)
    return builtins.float.__float__(x) if isinstance(x, Float) else x


class _Numbers:
    written: Written
    __add__, __radd__ = _binary("+", lambda a, b: a + b)
    __sub__, __rsub__ = _binary("-", lambda a, b: a - b)
    __mul__, __rmul__ = _binary("*", lambda a, b: a * b)
    __floordiv__, __rfloordiv__ = _binary("//", lambda a, b: a // b)
    __truediv__, __rtruediv__ = _binary("/", lambda a, b: a / b)
    __mod__, __rmod__ = _binary("%", lambda a, b: a % b)
    __pow__, __rpow__ = _binary("**", lambda a, b: a**b)
    __lt__ = _compare("<", lambda a, b: a < b)
    __le__ = _compare("<=", lambda a, b: a <= b)
    __gt__ = _compare("<", lambda a, b: a > b, swap=True)
    __ge__ = _compare("<=", lambda a, b: a >= b, swap=True)
    __eq__ = _compare("==", lambda a, b: a == b)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __bool__(self) -> bool:
        term = ["==", self.written, 0]
        _noted.compared.setdefault(repr(term), term)
        return bool(_bare(self))


class Int(_Numbers, builtins.int):
    def __new__(cls, x: int, written: Written) -> Int:
        self = builtins.int.__new__(cls, x)
        self.written = written
        return self

    __hash__ = builtins.int.__hash__

    def __reduce__(self) -> Any:
        return (builtins.int, (builtins.int.__int__(self),))


class Float(_Numbers, builtins.float):
    def __new__(cls, x: float, written: Written) -> Float:
        self = builtins.float.__new__(cls, x)
        self.written = written
        return self

    __hash__ = builtins.float.__hash__

    def __reduce__(self) -> Any:
        return (builtins.float, (builtins.float.__float__(self),))

    def __ceil__(self) -> Any:
        return _made(math.ceil(_bare(self)), ["ceil", self.written])

    def __floor__(self) -> Any:
        return _made(math.floor(_bare(self)), ["floor", self.written])

    def __trunc__(self) -> Any:
        return _made(math.trunc(_bare(self)), ["int", self.written])

    def __round__(self, digits: Any = None) -> Any:
        return _made(round(_bare(self)), ["round", self.written]) if not digits else _bare(self)


class Text(str):
    """A string that notes what it is compared with."""

    key: str

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            _noted.words.setdefault(self.key, set()).add(str.__str__(other))
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        return (str, (str.__str__(self),))


def text(x: str, key: str) -> Text:
    made = Text(x)
    made.key = key
    return made


class _IntLike(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, builtins.int)

    def __subclasscheck__(cls, x: type) -> bool:
        return issubclass(x, builtins.int)


class _AnyInt(metaclass=_IntLike):
    def __new__(cls, x: Any = 0, *more: Any) -> Any:
        if isinstance(x, Int):
            return x
        if isinstance(x, Float):
            return x.__trunc__()
        return builtins.int(x, *more)


def _extreme(name: str, real: Any) -> Any:
    def extreme(*args: Any, **more: Any) -> Any:
        items = args if len(args) > 1 else tuple(args[0]) if args else ()
        numbers = all(isinstance(x, (builtins.int, builtins.float)) for x in items)
        if more or not numbers or not any(isinstance(x, (Int, Float)) for x in items):
            return real(*args, **more)
        return _made(real(map(_bare, items)), [name, *map(_written, items)])

    return extreme


@contextmanager
def _sizes() -> Iterator[None]:
    """On the meta device, with the sizes of its tensors noted; without torch there are none."""
    try:
        import torch
        from torch.overrides import TorchFunctionMode
    except ImportError:
        yield
        return

    class Sizes(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            for x in _flat((args, list((kwargs or {}).values()))):
                _noted.sizes.setdefault(repr(x.written), x.written)
            return func(*args, **(kwargs or {}))

    with Sizes(), torch.device("meta"):
        yield


@contextmanager
def noting(packages: tuple[str, ...]) -> Iterator[Noted]:
    """Numbers of this module, made inside, are noted; ``int``, ``max`` and ``min`` keep them in
    the modules of ``packages``."""
    global _noted
    _noted = Noted()
    shadows = {"int": _AnyInt, "max": _extreme("max", max), "min": _extreme("min", min)}
    modules = [m for n, m in list(sys.modules.items()) if n.startswith(packages) and m is not None]
    changed = [(m, name) for m in modules for name in shadows if name not in vars(m)]
    for module, name in changed:
        setattr(module, name, shadows[name])
    try:
        with _sizes():
            yield _noted
    finally:
        for module, name in changed:
            delattr(module, name)


def _flat(x: Any, depth: int = 0) -> Iterator[Int]:
    if isinstance(x, Int):
        yield x
    elif isinstance(x, (tuple, list)) and depth < 4:
        for item in x:
            yield from _flat(item, depth + 1)
