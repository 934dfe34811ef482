"""What the pickle machine builds in place of Python objects.

Containers become plain lists, dicts and tuples, numbers and text themselves. Everything that a
real unpickler would look up or call becomes one of these nodes, which do nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

#: What a pickle does with a name. Every mention was a call whose outcome is known without making
#: it, such as ``getattr(Class, "NAME")``, which is a name of its own ...
SETTLED = "settled"
#: ... or made a bare instance, whose ``__init__`` does not run ...
MADE = "made"
#: ... or anything else: it is called, or handed to something that may call it.
NAMED = "named"


class PickleGlobal(NamedTuple):
    """A name that a pickle loads; ``position`` is the opcode's offset in bytes.

    ``module`` and ``name`` are as the stream spells them, Python 2's module names translated
    (``__builtin__`` to ``builtins``). A name that the stream computes is ``<computed>``. ``use``
    says what becomes of it in this pickle, a constant of this file.
    """

    module: str
    name: str
    position: int
    use: str = NAMED

    @property
    def dotted(self) -> str:
        return f"{self.module}.{self.name}"


class GlobalRef:
    """A reference to a global: only its name, and how often it was pushed and what became of it."""

    __slots__ = ("made", "module", "name", "pushed", "settled")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name
        self.pushed = self.made = self.settled = 0

    @property
    def use(self) -> str:
        if self.pushed == self.settled:
            return SETTLED
        return MADE if self.pushed == self.made + self.settled else NAMED


class Inert:
    """A call or an instance that was not made: what it called and the data it came with.

    ``target`` is what would have been called, ``args`` its arguments, ``parts`` whatever was
    added to the result afterwards (state, items).
    """

    __slots__ = ("args", "parts", "target")

    def __init__(self, target: object, args: tuple[object, ...] = ()) -> None:
        self.target = target
        self.args = args
        self.parts: list[object] = []

    def children(self) -> Iterator[object]:
        yield from self.args
        yield from self.parts


class OpaqueKey:
    """A dict key other than text, bytes or a small whole number; equal to nothing but itself.

    Hashing a hostile tuple can take 2**n steps or overflow the C stack, and millions of floats or
    large integers can be made to share one hash, so none is ever hashed.
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


class BadPickleArgumentsError(ValueError):
    """A known builder was given something else than it takes."""


#: Builds plain data from the arguments of one known global; raises BadPickleArgumentsError.
Constructor = Callable[[tuple[object, ...]], object]
Builders = Mapping[tuple[str, str], Constructor]
