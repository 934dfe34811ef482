"""What a cache is sized of: what each layer keeps, and for how much."""

from typing import Final, NamedTuple

from ..core.records import dataclass
from ..trees.cache_layout import CacheItem, KeysValues, State


@dataclass(frozen=True)
class CachedLayer:
    """One layer of the decoder: what it keeps, and how many tokens back it looks (None: all).
    ``static``: transformers takes a StaticCache for it."""

    cache: tuple[CacheItem, ...]
    window: int | None = None
    static: bool = True

    @property
    def keys_values(self) -> tuple[KeysValues, ...]:
        return tuple(item for item in self.cache if isinstance(item, KeysValues))

    @property
    def states(self) -> tuple[State, ...]:
        return tuple(item for item in self.cache if isinstance(item, State))


@dataclass(frozen=True)
class CacheRequest:
    """How much of what layers keep is to be sized, and in which dtypes.

    ``dtype`` is that of keys and values, ``state_dtype`` that of states which the model does not
    fix (None: ``dtype``), ``recurrent_dtype`` that of recurrent states that the model keeps in
    float32 and the engine does not (None: it does too). ``encoder_tokens`` (None: as many as
    ``tokens``) are those of cross-attention. ``heads`` are the key/value heads where a layer does
    not say its own.
    """

    tokens: int
    batch: int
    dtype: str
    state_dtype: str | None = None
    recurrent_dtype: str | None = None
    encoder_tokens: int | None = None
    heads: int | None = None

    @property
    def seen(self) -> int:
        return self.tokens if self.encoder_tokens is None else self.encoder_tokens


class Indexing(NamedTuple):
    """What only keys say of an indexer: ``ratio`` tokens of a block that it scores (1 where no key
    says it, which is most blocks), ``top_k`` tokens that it chooses (0: not said, so all)."""

    ratio: int = 1
    top_k: int = 0


#: Of a model whose keys say neither.
ALL_TOKENS: Final = Indexing()
