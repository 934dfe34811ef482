"""How a context of llama.cpp is made, and what its largest step is then."""

from fractions import Fraction
from typing import Final, NamedTuple

from .interface import padded

#: ``n_ctx`` and windows are rounded up to so many cells.
CELLS: Final = 256


class Step(NamedTuple):
    """How a context is made; the names are llama.cpp's.

    Fields:
        n_ctx [tokens]: of all sequences together
        n_seq_max [sequences]: that the cache may hold
        n_ubatch [tokens]: of one step
        kv_unified: all sequences share the cells
        swa_full: windowed layers hold the whole context
        flash: flash attention
        n_outputs [tokens]: of a step that may have logits
        quantized: keys or values are in blocks
        cached: the graph reads a cache; an encoder's looks at the tokens of the step alone
        element [bytes]: of one number of the keys that are kept
    """

    n_ctx: int
    n_seq_max: int = 1
    n_ubatch: int = 512
    kv_unified: bool = True
    swa_full: bool = False
    flash: bool = True
    n_outputs: int = 2048
    quantized: bool = False
    cached: bool = True
    element: Fraction = Fraction(2)

    @property
    def tokens(self) -> int:
        """Of the graph: no more than fit the context, as many for each sequence."""
        return padded(min(self.n_ctx, self.n_ubatch), self.n_seq_max)

    @property
    def outputs(self) -> int:
        return min(self.tokens, self.n_outputs)

    def cells(self, window: int | None, *, apart: bool = False) -> int:
        """Cells of one stream that a layer looks at. ``apart``: each sequence has cells of its own,
        though they share those of other layers."""
        if not self.cached:
            return self.tokens
        streams = 1 if self.kv_unified else self.n_seq_max
        full = padded(padded(self.n_ctx, CELLS) // streams, CELLS)
        if window is None or self.swa_full:
            return full
        sequences = self.n_seq_max if self.kv_unified and not apart else 1
        return padded(min(full, window * sequences + min(self.n_ubatch, self.n_ctx)), CELLS)

    def rows(self, window: int | None, *, every: int = 1, apart: bool = False) -> int:
        """Rows of one layer for all sequences; ``every`` tokens share a row."""
        if every > 1:
            return self.n_seq_max * padded(max(1, -(-self.cells(None) // every)), CELLS)
        return self.cells(window, apart=apart) * (self.n_seq_max if apart else self.streams)

    @property
    def streams(self) -> int:
        """Of cells that sequences do not share."""
        return 1 if self.kv_unified else self.n_seq_max
