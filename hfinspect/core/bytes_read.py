"""Bytes that a step reads, FLOPs for each of them, and how fast a bandwidth allows it to be."""

from __future__ import annotations

from .json_form import JsonForm
from .records import dataclass


@dataclass(frozen=True)
class Reading(JsonForm, after={"nbytes": ""}, digits=3):
    """What the next token of each sequence reads at least: the weights used per token (k of n
    experts, of the table of tokens one row, which is left out) and the cache.

    Fields:
        weights [bytes]: used per token
        cache [bytes]: of all sequences, as little as any engine holds
        decode_intensity [FLOPs per byte]: of the next token of each sequence; None where FLOPs are
            not known
        prefill_intensity [FLOPs per byte]: of a prefill, for the weights, read once, and the cache,
            written once; None where FLOPs are not known
        bandwidth [bytes per second]: of one device, as it was named; None where it was not
        tokens_per_second [tokens per second]: at most, of all sequences: bandwidth · devices ·
            batch / bytes; None without a bandwidth
        formula: of the upper limit, or of the bytes
    """

    weights: int
    cache: int
    decode_intensity: float | None
    prefill_intensity: float | None
    bandwidth: int | None
    tokens_per_second: float | None
    formula: str

    @property
    def nbytes(self) -> int:
        """Of weights and cache."""
        return self.weights + self.cache
