"""How engines hold what a layer keeps: rows of keys and values, columns of convolutions, dtypes.

Each engine is a set of rules read from its source, with the version that was read. ``logical`` is
the least that any engine must hold between two tokens.

- transformers 5.23.0, ``cache_utils.py``: a windowed layer holds ``window - 1`` tokens in a
  DynamicCache and ``window`` in a StaticCache; convolutions hold ``kernel`` columns.
- vLLM at commit 001cabc1, ``v1/kv_cache_interface.py``: blocks of 16 tokens; a windowed layer
  reserves ``cdiv(min(window - 1 + max_num_batched_tokens, len), block) + 1`` blocks; one state a
  sequence. fp8_ds_mla is 656 bytes a token and layer, nvfp4 9 bytes for 16 values, a dtype per
  token and head adds a float32 scale for each; an indexer (``models/deepseek_v2.py``) keeps one
  byte a value and a float32 scale for 128 of them.
  Checked against 0.33.0: there a step may be two (asynchronous scheduling), states are in the
  model's dtype, and next to attention they get pages of its size.
- SGLang 0.5.23, ``mem_cache/memory_pool.py``: a row a token; convolutions hold ``kernel - 1``
  columns; an indexer (``DSATokenToKVPool``) as in vLLM.
- llama.cpp at commit 02c28f53, ``llama-kv-cache-iswa.cpp``: cells in steps of 256; a windowed
  layer holds ``n_seq_max · n_swa + n_ubatch`` cells, at most the context; states are float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ..core.choices import ENGINES as NAMES
from ..core.choices import checked
from ..core.records import dataclass
from ..core.tensor import DTYPE_BITS
from ..errors import UsageError
from ..trees.keeps import KeysValues

if TYPE_CHECKING:
    from fractions import Fraction


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
            Engine("sglang", "0.5.23", kernel_less=1),
            Engine("llama.cpp", "02c28f53", kernel_less=1, cells=256, state_dtype="F32"),
        )
    }
)

#: Bytes an element of llama.cpp's cache types that are blocks: (bytes, elements) of a block.
#: Source: ggml-common.h (block_q8_0 ...): values and one or two float16 a block of 32.
_BLOCKS = MappingProxyType(
    {
        "q8_0": (34, 32), "q5_1": (24, 32), "q5_0": (22, 32), "q4_1": (20, 32), "q4_0": (18, 32),
        "iq4_nl": (18, 32),
    }
)  # fmt: skip

#: The same of vLLM's own, without what ``_SCALES`` adds. nvfp4: half a byte, and a scale of one
#: byte for 16 values. fp8_ds_mla is a layout of latents alone: see ``_LATENT_ROW``.
_VLLM = MappingProxyType(
    {"nvfp4": (9, 16), "int8_per_token_head": (1, 1), "fp8_per_token_head": (1, 1),
     "fp8_ds_mla": (1, 1)}
)  # fmt: skip
#: Bytes that a row of each head has next to its values: one float32 scale.
_SCALES = MappingProxyType({"int8_per_token_head": 4, "fp8_per_token_head": 4})
#: fp8_ds_mla: 512 values in float8, four float32 scales, 64 rotary ones in 16 bits.
_LATENT_ROW: Final = (512, 64, 656)
#: An indexer's values that share a float32 scale; vLLM and SGLang keep its keys in float8 in any
#: case.
_INDEXER_BLOCK: Final = 128

#: How people write the other cache dtypes.
_SPELLINGS = MappingProxyType(
    {
        "bf16": "BF16", "bfloat16": "BF16", "f16": "F16", "fp16": "F16", "float16": "F16",
        "half": "F16", "f32": "F32", "fp32": "F32", "float32": "F32", "fp8": "F8_E4M3",
        "fp8_e4m3": "F8_E4M3", "fp8_e5m2": "F8_E5M2",
    }
)  # fmt: skip
#: Dtypes of a cache that every engine has, and those in one byte of vLLM and SGLang.
_PLAIN, _FLOAT8 = ("F32", "BF16", "F16"), ("F8_E4M3", "F8_E5M2")
_HELD_IN: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "transformers": _PLAIN, "transformers-static": _PLAIN,
        "vllm": (*_PLAIN, *_FLOAT8, *_VLLM), "sglang": (*_PLAIN, *_FLOAT8),
        "llama.cpp": (*_PLAIN, *_BLOCKS),
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


#: Engines that cut a prompt into steps, and the tokens of a step at most.
_STEPPING: Final = ("vllm", "sglang", "llama.cpp")
_MAX_STEP: Final = 2**24


def settings_of(engine: Engine, step_tokens: int | None) -> Settings:
    """The engine's defaults, or a step of so many tokens. Raises UsageError."""
    if step_tokens is None:
        return Settings()
    if engine.name not in _STEPPING:
        raise UsageError(
            f"step tokens {step_tokens}", f"are no setting of engine {engine.name}",
            expected=" or ".join(_STEPPING),
        )  # fmt: skip
    if isinstance(step_tokens, bool) or not 1 <= step_tokens <= _MAX_STEP:
        raise UsageError(
            f"step tokens {step_tokens!r}", "are not possible", expected=f"1 to {_MAX_STEP:,}"
        )
    return Settings(batched_tokens=step_tokens, ubatch=step_tokens)


def find_engine(name: str) -> Engine:
    """Raises UsageError for a name that is none."""
    return ENGINES[checked("engine", name.lower(), NAMES)]


def as_cache_dtype(name: str, engine: Engine | None = None) -> str:
    """The dtype of a cache as we spell it: ``fp8`` is F8_E4M3, ``q8_0`` and ``nvfp4`` stay.

    Raises UsageError for one that is none, or that ``engine`` does not have.
    """
    low = name.lower()
    found = _SPELLINGS.get(low) or (name.upper() if name.upper() in DTYPE_BITS else None)
    if low in _BLOCKS or low in _VLLM:
        found = low
    if found is None:
        known = ", ".join([*_SPELLINGS, *_BLOCKS, *_VLLM])
        raise UsageError(f"cache dtype {name!r}", "is unknown", expected=known)
    held = None if engine is None else _HELD_IN.get(engine.name)
    if engine is not None and held is not None and found not in held:
        expected = ", ".join(dict.fromkeys(_short(dtype) for dtype in held))
        raise UsageError(
            f"cache dtype {name!r}", f"is none that {engine.name} keeps a cache in",
            expected=expected,
        )  # fmt: skip
    return found


def _short(dtype: str) -> str:
    return next((name for name, meant in _SPELLINGS.items() if meant == dtype), dtype)


def packed(dtype: str) -> tuple[int, int]:
    """(bytes, elements) that go together."""
    found = _BLOCKS.get(dtype) or _VLLM.get(dtype)
    return found or (DTYPE_BITS[dtype], 8)


def bytes_an_element(dtype: str) -> Fraction:
    from fractions import Fraction

    return Fraction(*packed(dtype))


def nbytes_of(elements: int, dtype: str) -> int:
    """Bytes of so many elements, rounded up to a whole one."""
    size, group = packed(dtype)
    return -(-elements * size // group)


def row_elements(item: KeysValues, engine: Engine) -> int:
    """Elements of one token's row as the engine holds it."""
    times = item.repeated if engine.name.startswith("transformers") else 1
    return (int(item.key) + int(item.value)) * times


def bytes_of_rows(
    item: KeysValues, rows: int, dtype: str, engine: Engine, heads: int | None = None
) -> int:
    """Bytes of ``rows`` rows. ``heads`` are the key/value heads where the item does not say."""
    elements = row_elements(item, engine)
    if engine.name in ("vllm", "sglang") and item.name == "indexer":
        return rows * (elements + -(-elements // _INDEXER_BLOCK) * 4)
    if dtype == "fp8_ds_mla":
        return rows * _LATENT_ROW[2]
    nbytes = nbytes_of(elements * rows, item.dtype or dtype)
    both = bool(item.key) + bool(item.value)
    scales = _SCALES.get(dtype, 0)
    return nbytes + rows * both * int(item.heads or heads or 1) * scales if scales else nbytes


def not_held(item: KeysValues, dtype: str) -> str:
    """Why a cache of this dtype cannot hold the rows; empty where it can."""
    if dtype == "fp8_ds_mla" and not item.name:
        latent, rotary, _ = _LATENT_ROW
        if not item.latent or (int(item.key), int(item.value)) != (latent, rotary):
            return f"fp8_ds_mla holds latents of {latent} + {rotary} numbers only"
    elif dtype in _VLLM and item.latent:
        return f"vLLM keeps no latents in {dtype}; fp8 or fp8_ds_mla"
    return ""


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


def window_full(engine: Engine, window: int, batch: int, settings: Settings) -> int:
    """At how many tokens of a sequence the rows of a windowed layer grow no more."""
    if engine.name == "vllm":
        return window - 1 + settings.batched_tokens
    if engine.name == "llama.cpp":
        return padded(batch * window + settings.ubatch, engine.cells) // batch
    return window if engine.static else window - 1


def padded(cells: int, step: int) -> int:
    return -(-cells // step) * step
