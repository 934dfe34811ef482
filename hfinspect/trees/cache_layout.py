"""What a layer keeps between tokens: keys and values, latents, states.

A block that makes the tensors says it with ``Module(..., cache=...)``; ``sizing/layer_cache.py``
reads it, and the projections of blocks that say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from ..core.records import dataclass


@dataclass(frozen=True)
class KeysValues:
    """Rows of keys and values, one each a token; ``key`` and ``value`` are elements a token.

    ``heads`` is the number of key/value heads where it is known. ``cross``: the tokens are the
    encoder's. ``latent``: one row for all heads, which tensor parallelism does not divide.
    ``repeated``: how often transformers holds each row (heads that it broadcasts before keeping).
    ``dtype`` None is that of the cache. ``every``: so many tokens share a row, which no window
    ends; ``of`` says whose rows these are: ``groups`` that are full, the ``rest`` of tokens in no
    full one yet, or the tokens of the ``last`` full one, which the next still needs. ``before``:
    rows of a prompt of the model's own, in front of the tokens. ``prompt``: rows of the tokens that
    were read before any was generated, which no window of generated ones ends; transformers keeps
    them apart, and they count as a state. ``by_sequence``: each sequence has cells of its own even
    where the engine's sequences share theirs.
    """

    key: int
    value: int
    heads: int | None = None
    cross: bool = False
    latent: bool = False
    name: str = ""
    repeated: int = 1
    dtype: str | None = None
    every: int = 1
    of: Literal["groups", "rest", "last"] = "groups"
    before: int = 0
    prompt: bool = False
    by_sequence: bool = False

    def rows_of_groups(self, tokens: int) -> int:
        """Rows of one sequence of so many tokens, where ``every`` share one."""
        if self.of == "groups":
            return tokens // self.every
        if self.of == "rest":
            return tokens % self.every
        return self.every if tokens >= self.every else 0


@dataclass(frozen=True)
class State:
    """A tensor of a fixed shape a sequence; ``dtype`` None is the model's own.

    ``name`` is ``conv`` or ``recurrent``, or ``convolution`` where transformers too keeps one
    column less than the kernel. Any other convolution keeps its last ``kernel`` inputs in
    transformers and ``kernel - 1`` elsewhere: ``shape[-1]`` is the kernel then.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str | None = None


@dataclass(frozen=True)
class Unknown:
    """A layout whose bytes no rule here gives; ``reason`` says why, and the cache is refused."""

    reason: str


CacheItem = KeysValues | State | Unknown

#: The name of rows that an engine reserves for layers that a group lacks.
PADDING: Final = "padding"

#: Fields of ``KeysValues`` that are numbers; the others are words and flags.
NUMBERS: Final = ("key", "value", "heads", "repeated", "every", "before")
_WORDS: Final = ("cross", "latent", "name", "dtype", "of", "prompt", "by_sequence")


def cache_item(written: Mapping[str, Any], number: Callable[[Any], int]) -> CacheItem:
    """What data says that a block keeps: its fields by name, ``shape`` only of a state and
    ``reason`` only of what is unknown. ``number`` gives the value of a written size.

    Raises ValueError for a field that there is not, and TypeError without one that there must be.
    """
    if "reason" in written:
        return Unknown(str(written["reason"]))
    if "shape" in written:
        sizes = tuple(number(size) for size in written["shape"])
        return State(str(written["name"]), sizes, written.get("dtype"))
    words: dict[str, Any] = {
        k: v for k, v in written.items() if k in _WORDS and isinstance(v, (str, bool))
    }
    numbers: dict[str, Any] = {k: number(v) for k, v in written.items() if k in NUMBERS}
    if len(words) + len(numbers) < len(written):
        raise ValueError("keeps what is not a row of keys and values")
    return KeysValues(**words, **numbers)
