"""What a model keeps between tokens, in bytes: one group for layers that keep the same."""

from __future__ import annotations

from dataclasses import field
from typing import Final

from .json_form import JsonForm
from .records import dataclass

#: Why a model has no cache, or nothing is known of it; other reasons are those of a layout whose
#: bytes no rule gives.
ENCODES: Final = "an encoder keeps nothing between tokens"
AT_ONCE: Final = "it does not write token after token, and keeps nothing between passes"
UNCATALOGUED: Final = "its architecture is not in the catalog"
NO_CONFIG: Final = "it has no config.json"
NO_KEY_VALUES: Final = "the file's key-values are not those of an architecture that is known"
SEVERAL: Final = "it is a model of several parts; size one of them"


@dataclass(frozen=True)
class CacheGroup(JsonForm):
    """Layers that store the same.

    Fields:
        label: what the layers store: ``keys and values``, ``latent``, ``recurrent state``, ...
        layers [layers]: number of layers
        elements [elements]: for a token (rows) or a sequence (states), in all these layers
        dtype: of the elements
        grows: whether each token adds a row
        window [tokens]: how far back attention looks; None for everything
        rows [rows]: stored per sequence
        nbytes [bytes]: of all sequences
        formula: of ``elements``, from config keys
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


@dataclass(frozen=True)
class CacheSize(JsonForm, after={"encoder_tokens": "batch", "layers": "notes"}):
    """Bytes of a cache for some sequences of some tokens, as an engine holds it.

    Fields:
        engine: the engine whose rules apply
        version: the engine's version
        tokens [tokens]: of each sequence
        batch [sequences]: at once
        dtype: of keys and values
        nbytes [bytes]: of all sequences
        kv_bytes [bytes]: keys and values; latents, indexers and cross-attention too
        state_bytes [bytes]: recurrent and convolution states
        fixed [bytes per sequence]: bytes that do not grow with tokens
        per_token [bytes]: bytes that the next token adds to a sequence at this context
        per_token_first [bytes]: bytes that the first token adds to a sequence
        knee [tokens]: tokens at which the last window is full; None without windows
        layers: layers grouped by what they store
        encoder_tokens [tokens]: of the encoder's input; None without an encoder
        assumed: why this dtype, if the config names none
        notes: remarks
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
