"""What ``explain --cache`` returns: the cache of a model, line by line."""

from __future__ import annotations

from dataclasses import dataclass

from .cache_size import CacheSize
from .display import Shown
from .formula import Formula
from .json_form import JsonDocument, JsonForm
from .ledger_lines import Letter
from .refs import Origin


@dataclass(frozen=True)
class CacheLine(JsonForm):
    """What layers of one kind store: elements × rows × bytes per element.

    Fields:
        label: what the layers store
        layers: number of layers
        elements: for a token (rows) or a sequence (states), in all these layers
        rows [rows]: of all sequences; 1 for each sequence's state
        rows_formula: formula of the rows, in N tokens, b sequences, window W
        width: bytes per element, such as ``2`` or ``34/32``, or of a whole row, if it says so
        dtype: of the elements
        nbytes [bytes]: of all sequences
    """

    label: str
    layers: str
    elements: Formula
    rows: int
    rows_formula: str
    width: str
    dtype: str
    nbytes: int


@dataclass(frozen=True, repr=False)
class CacheDerivation(
    JsonDocument,
    Shown,
    without="origin",
    names={"origin.commit": "commit"},
    after={"commit": "model_type"},
):
    """The cache of a model, derived: the lines sum up to ``cache.nbytes``.

    Fields:
        target: the model as it was named
        origin: what was read, and at which commit
        architecture: the class that was derived
        model_type: of config.json
        cache: the size, as ``memory`` reports it
        letters: the symbols of the formulas
        lines: what the layers store, one line per kind of layer
        notes: remarks on what is easily misread
    """

    target: str
    origin: Origin
    architecture: str
    model_type: str | None
    cache: CacheSize
    letters: tuple[Letter, ...]
    lines: tuple[CacheLine, ...]
    notes: tuple[str, ...] = ()

    def _in_a_line(self) -> str:
        return f"{self.target}: {self.cache.nbytes:,} bytes at {self.cache.tokens:,} tokens"
