"""What a model weighs under a recipe: in the dtype it is stored in, or quantised by some tool."""

from __future__ import annotations

from .json_form import JsonForm
from .records import dataclass


@dataclass(frozen=True)
class RecipeSize(JsonForm, after={"padded_nbytes": "nbytes"}):
    """The bytes of a model's tensors under one recipe.

    Fields:
        name: as people write it: ``Q4_K_M``, ``AWQ 4-bit``, ``as stored``
        dtype: of most bytes, as it is called there: ``BF16``, ``Q4_K``, ``INT4``
        nbytes [bytes]: of all tensors, without headers and padding; None where unknown
        bits_per_weight [bits]: of those bytes, for each parameter; None where unknown
        why_unknown: why the bytes are unknown; empty if they are known
        engine: that runs it: ``llama.cpp``, ``vllm``, ``transformers``, ``mlx``; empty: several
        padded_nbytes [bytes]: the same in a file whose tensors are aligned to 32 bytes (GGUF); None
            for other files
        note: what the bytes do not include
    """

    name: str
    dtype: str
    nbytes: int | None
    bits_per_weight: float | None = None
    why_unknown: str = ""
    engine: str = ""
    padded_nbytes: int | None = None
    note: str = ""
