"""Bytes that a step reads, FLOPs for each of them, and how fast a bandwidth allows it to be."""

from __future__ import annotations

from typing import Any

from .json_form import JsonForm
from .records import dataclass


@dataclass(frozen=True)
class Reading(JsonForm, after={"nbytes": ""}):
    """What the next token of each sequence reads at least: the weights used per token (k of n
    experts, of the table of tokens one row, which is left out) and the cache.

    ``decode_intensity`` are FLOPs for each of these bytes, ``prefill_intensity`` those of a prefill
    for each byte of the weights, read once, and of the cache, written once; None where FLOPs are
    not known. ``tokens_per_second`` is an upper limit: bandwidth · devices · batch / bytes.

    Fields:
        weights [bytes]: used per token
        cache [bytes]: of all sequences, as little as any engine holds
        decode_intensity [FLOPs per byte]: of the next token of each sequence
        prefill_intensity [FLOPs per byte]: of a prefill
        bandwidth [bytes per second]: of one device, as it was named; None where it was not
        tokens_per_second [tokens per second]: at most, of all sequences; None without a bandwidth
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
        return self.weights + self.cache

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, rates with three digits."""
        form = super().to_dict()
        return {k: round(v, 3) if isinstance(v, float) else v for k, v in form.items()}
