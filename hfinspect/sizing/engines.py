"""How engines hold what a layer keeps: rows of keys and values, columns of convolutions, dtypes.

Each engine is a set of rules read from its source, with the version that was read. ``logical`` is
the least that any engine must hold between two tokens.

- transformers 5.23.0, ``cache_utils.py``: a windowed layer holds ``window - 1`` tokens in a
  DynamicCache and ``window`` in a StaticCache; convolutions hold ``kernel`` columns.
- vLLM at commit 001cabc1, ``v1/kv_cache_interface.py``: blocks of 16 tokens; a windowed layer
  reserves ``cdiv(min(window - 1 + max_num_batched_tokens, len), block) + 1`` blocks; one state a
  sequence.
- SGLang, ``mem_cache/memory_pool.py``: a row a token; convolutions hold ``kernel - 1`` columns.
- llama.cpp at commit 02c28f53, ``llama-kv-cache-iswa.cpp``: cells in steps of 256; a windowed
  layer holds ``n_seq_max · n_swa + n_ubatch`` cells, at most the context; states are float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from ..core.choices import ENGINES as NAMES
from ..core.choices import checked
from ..core.tensor import DTYPE_BITS
from ..errors import UsageError


@dataclass(frozen=True)
class Engine:
    """The rules of one engine.

    ``kernel_less`` columns are dropped from a convolution's kernel. ``cells`` rounds the context up
    (llama.cpp, vLLM). ``state_dtype`` is the dtype of all states where the engine fixes it.
    """

    name: str
    version: str
    kernel_less: int = 0
    cells: int = 1
    state_dtype: str | None = None
    static: bool = False


ENGINES: Final[Mapping[str, Engine]] = MappingProxyType(
    {
        engine.name: engine
        for engine in (
            Engine("logical", "", kernel_less=1),
            Engine("transformers", "5.23.0"),
            Engine("transformers-static", "5.23.0", static=True),
            Engine("vllm", "001cabc1", kernel_less=1, cells=16),
            Engine("sglang", "", kernel_less=1),
            Engine("llama.cpp", "02c28f53", kernel_less=1, cells=256, state_dtype="F32"),
        )
    }
)

#: Bytes an element of the cache types that are blocks: (bytes, elements) of a block.
#: Source: ggml-common.h (block_q8_0 ...): values and one or two float16 a block of 32.
_BLOCKS = MappingProxyType(
    {
        "q8_0": (34, 32), "q5_1": (24, 32), "q5_0": (22, 32), "q4_1": (20, 32), "q4_0": (18, 32),
        "iq4_nl": (18, 32),
    }
)  # fmt: skip

#: How people write the other cache dtypes.
_SPELLINGS = MappingProxyType(
    {
        "bf16": "BF16", "bfloat16": "BF16", "f16": "F16", "fp16": "F16", "float16": "F16",
        "half": "F16", "f32": "F32", "fp32": "F32", "float32": "F32", "fp8": "F8_E4M3",
        "fp8_e4m3": "F8_E4M3", "fp8_e5m2": "F8_E5M2",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What a user chooses of an engine, next to context and batch.

    ``batched_tokens``: tokens of one step (vLLM's max_num_batched_tokens). ``ubatch``: llama.cpp's
    physical batch. Both are the engines' defaults.
    """

    batched_tokens: int = 8192
    ubatch: int = 512


def find_engine(name: str) -> Engine:
    """Raises UsageError for a name that is none."""
    return ENGINES[checked("engine", name.lower(), NAMES)]


def as_cache_dtype(name: str) -> str:
    """The dtype of a cache as we spell it: ``fp8`` is F8_E4M3, ``q8_0`` stays.

    Raises UsageError.
    """
    found = _SPELLINGS.get(name.lower()) or (name.upper() if name.upper() in DTYPE_BITS else None)
    if found is None and name.lower() in _BLOCKS:
        found = name.lower()
    if found is None:
        known = ", ".join([*_SPELLINGS, *_BLOCKS])
        raise UsageError(f"cache dtype {name!r}", "is unknown", expected=known)
    return found


def bytes_an_element(dtype: str) -> Fraction:
    if dtype in _BLOCKS:
        return Fraction(*_BLOCKS[dtype])
    return Fraction(DTYPE_BITS[dtype], 8)


def rows_held(
    engine: Engine, window: int | None, tokens: int, batch: int, settings: Settings
) -> int:
    """Rows of keys and values that one layer holds for all ``batch`` sequences of ``tokens``."""
    if engine.name == "vllm":
        longest = tokens
        extra = 0
        if window is not None:
            longest = min(window - 1 + settings.batched_tokens, tokens)
            extra = 1
        return batch * (-(-longest // engine.cells) + extra) * engine.cells
    if engine.name == "llama.cpp":
        cells = padded(tokens * batch, engine.cells)
        if window is None:
            return cells
        return min(cells, padded(batch * window + settings.ubatch, engine.cells))
    if window is None:
        return batch * tokens
    return batch * min(tokens, window if engine.static else window - 1)


def padded(cells: int, step: int) -> int:
    return -(-cells // step) * step
