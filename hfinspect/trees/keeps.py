"""What a layer keeps between tokens: keys and values, latents, states.

A block that makes the tensors says it with ``Module(..., keeps=...)``; ``sizing/kept.py`` reads it,
and the projections of blocks that say nothing.
"""

from __future__ import annotations

from typing import Literal

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
    them apart, and they count as a state.
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


Keeps = KeysValues | State | Unknown
