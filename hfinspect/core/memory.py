"""What ``memory`` returns: weights, cache, workspace and training, each with its derivation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class CacheGroup:
    """Layers that keep the same. ``layers`` is how many, ``label`` what they keep (``keys and
    values``, ``latent``, ``recurrent state`` ...), ``window`` the tokens they look back on (None:
    all). ``elements`` are a token's (rows) or a sequence's (states), in all these layers;
    ``grows``: one more row for each token. ``formula`` derives ``elements`` from config keys.
    """

    label: str
    layers: int
    elements: int
    dtype: str
    grows: bool
    window: int | None = None
    rows: int = 1
    nbytes: int = 0
    formula: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "label": self.label, "layers": self.layers, "elements": self.elements,
            "dtype": self.dtype, "grows": self.grows, "window": self.window, "rows": self.rows,
            "nbytes": self.nbytes, "formula": self.formula,
        }  # fmt: skip


@dataclass(frozen=True)
class CacheSize:
    """Bytes of a cache for ``batch`` sequences of ``tokens``, as ``engine`` holds it.

    ``kv_bytes`` are keys and values (latents, indexers and cross-attention too), ``state_bytes``
    recurrent and convolution states, ``nbytes`` both. ``fixed`` are bytes a sequence that do not
    grow with tokens, ``per_token`` the bytes that the next token adds to a sequence at this
    context, ``per_token_first`` those of a sequence's first token, ``knee`` the context at which
    the last window is full (None without windows). ``dtype`` is that of keys and values;
    ``assumed`` says why where the config names none.
    """

    engine: str
    version: str
    tokens: int
    batch: int
    dtype: str
    nbytes: int
    kv_bytes: int
    state_bytes: int
    fixed: int
    per_token: int
    per_token_first: int
    knee: int | None
    layers: tuple[CacheGroup, ...] = ()
    encoder_tokens: int | None = None
    assumed: str = ""
    notes: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        return {
            "engine": self.engine, "version": self.version, "tokens": self.tokens,
            "batch": self.batch, "encoder_tokens": self.encoder_tokens, "dtype": self.dtype,
            "nbytes": self.nbytes, "kv_bytes": self.kv_bytes, "state_bytes": self.state_bytes,
            "fixed": self.fixed, "per_token": self.per_token,
            "per_token_first": self.per_token_first, "knee": self.knee,
            "assumed": self.assumed, "notes": list(self.notes),
            "layers": [group.to_dict() for group in self.layers],
        }  # fmt: skip
