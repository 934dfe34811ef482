"""Dtypes of keys and values, as engines and people spell them, and how many bytes they take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ...core.tensor import DTYPE_BITS
from ...errors import UsageError

if TYPE_CHECKING:
    from fractions import Fraction

#: Bytes an element of llama.cpp's cache types that are blocks: (bytes, elements) of a block.
#: Source: ggml-common.h (block_q8_0 ...): values and one or two float16 a block of 32.
GGML_BLOCKS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "q8_0": (34, 32),
        "q5_1": (24, 32),
        "q5_0": (22, 32),
        "q4_1": (20, 32),
        "q4_0": (18, 32),
        "iq4_nl": (18, 32),
    }
)
#: The same of vLLM's own, without the scales of a token and head. nvfp4: half a byte, and a scale
#: of one byte for 16 values. fp8_ds_mla is a layout of latents alone.
VLLM_DTYPES: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "nvfp4": (9, 16),
        "int8_per_token_head": (1, 1),
        "fp8_per_token_head": (1, 1),
        "fp8_ds_mla": (1, 1),
    }
)
#: How people write the other cache dtypes.
_SPELLINGS = MappingProxyType(
    {
        "bf16": "BF16",
        "bfloat16": "BF16",
        "f16": "F16",
        "fp16": "F16",
        "float16": "F16",
        "half": "F16",
        "f32": "F32",
        "fp32": "F32",
        "float32": "F32",
        "fp8": "F8_E4M3",
        "fp8_e4m3": "F8_E4M3",
        "fp8_e5m2": "F8_E5M2",
    }
)
#: Dtypes of a cache that every engine has, and those in one byte of vLLM and SGLang.
PLAIN: Final = ("F32", "BF16", "F16")
FLOAT8: Final = ("F8_E4M3", "F8_E5M2")


def spelled_dtype(name: str) -> str:
    """The dtype of a cache as we spell it: ``fp8`` is F8_E4M3, ``q8_0`` and ``nvfp4`` stay.

    Raises UsageError for one that is none.
    """
    low = name.lower()
    if low in GGML_BLOCKS or low in VLLM_DTYPES:
        return low
    dtype = _SPELLINGS.get(low) or (name.upper() if name.upper() in DTYPE_BITS else None)
    if dtype is None:
        known = ", ".join([*_SPELLINGS, *GGML_BLOCKS, *VLLM_DTYPES])
        raise UsageError(f"cache dtype {name!r}", "is unknown", expected=known)
    return dtype


def short_names(dtypes: Iterable[str]) -> str:
    """The dtypes as people write them, each once."""
    short = {dtype: name for name, dtype in reversed(tuple(_SPELLINGS.items()))}
    return ", ".join(dict.fromkeys(short.get(dtype, dtype) for dtype in dtypes))


def packed(dtype: str) -> tuple[int, int]:
    """(bytes, elements) that go together."""
    block = GGML_BLOCKS.get(dtype) or VLLM_DTYPES.get(dtype)
    return block or (DTYPE_BITS[dtype], 8)


def bytes_an_element(dtype: str) -> Fraction:
    from fractions import Fraction  # most runs need none

    return Fraction(*packed(dtype))


def nbytes_of(elements: int, dtype: str) -> int:
    """Bytes of so many elements, rounded up to a whole one."""
    size, group = packed(dtype)
    return -(-elements * size // group)


def two_dtypes(dtype: str) -> tuple[str, str]:
    """Of keys and of values: ``q8_0/F16`` names two, any other dtype is that of both."""
    key, _, value = dtype.partition("/")
    return key, value or key
