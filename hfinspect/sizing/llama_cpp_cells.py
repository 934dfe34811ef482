"""Bytes that llama.cpp reserves for a layout at the settings of a context.

Source: src/llama-context.cpp, llama-kv-cache.cpp, llama-kv-cache-iswa.cpp, llama-kv-cache-dsv4.cpp
and llama-memory-recurrent.cpp of llama.cpp 0.5.0 (in llama_cpp_python 0.3.36, read in November
2026), compared with what it reserved in fixtures/oracle/llama_cpp.json.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from ..core.records import dataclass
from ..trees.cache_layout import KeysValues, State
from .engines.cache_dtypes import bytes_an_element, packed

if TYPE_CHECKING:
    from ..analysis.gguf.gguf_cache import CacheLayer, CacheLayout

#: ``n_ctx`` and windows are rounded up to so many cells.
STEP: Final = 256
#: Architectures of which llama.cpp turns flash attention off by itself.
_NO_FLASH: Final = frozenset({"grok"})


@dataclass(frozen=True)
class CellSettings:
    """How a context is made; the names are llama.cpp's own, next to llama-server's flags.

    Fields:
        n_ctx: tokens of all sequences together (``-c``)
        n_seq_max: sequences (``-np``)
        n_ubatch: tokens of a step (``-ub``)
        kv_unified: the sequences share the cells (``-kvu``)
        swa_full: windowed layers hold the whole context (``--swa-full``)
        type_k: dtype of keys (``-ctk``)
        type_v: dtype of values (``-ctv``)
        flash_attn: flash attention (``-fa``)
    """

    n_ctx: int
    n_seq_max: int = 1
    n_ubatch: int = 512
    kv_unified: bool = False
    swa_full: bool = False
    type_k: str = "F16"
    type_v: str = "F16"
    flash_attn: bool = True

    @property
    def cells(self) -> int:
        """``n_ctx_seq``: cells of each stream."""
        full = padded(self.n_ctx)
        return full if self.kv_unified else padded(full // self.n_seq_max)

    @property
    def step(self) -> int:
        """Tokens of a step: no more than fit the context."""
        return min(self.n_ubatch, self.n_ctx)


class Reserved(NamedTuple):
    """Bytes of keys and values, and of recurrent states."""

    kv: int
    states: int


def padded(cells: int) -> int:
    return -(-cells // STEP) * STEP


def refused(layout: CacheLayout, settings: CellSettings) -> str:
    """Why llama.cpp makes no context at these settings; empty where it does."""
    flash = settings.flash_attn and layout.architecture not in _NO_FLASH
    type_k, type_v = settings.type_k, settings.type_v
    if layout.latent and type_k != type_v:
        return f"{layout.architecture} keeps latents: keys and values are of one type"
    if block(type_v) > 1 and not flash:
        return f"values in {type_v} need flash attention"
    for sizes in layout.head_sizes if flash else ():
        for name, size, dtype in zip(("keys", "values"), sizes, (type_k, type_v), strict=True):
            if size % block(dtype):
                return f"{dtype} has blocks of {block(dtype)}, and heads of {name} have {size}"
    for item in (item for layer in layout.layers for item in layer.cache):
        if isinstance(item, KeysValues):
            for size, dtype in ((int(item.key), type_k), (int(item.value), type_v)):
                if size % block(dtype):
                    return f"{dtype} has blocks of {block(dtype)}, and a row has {size} elements"
    return ""


def block(dtype: str) -> int:
    """Elements of a block of a quantized type."""
    return packed(dtype)[1] if dtype.islower() else 1


def reserved(layout: CacheLayout, settings: CellSettings) -> Reserved:
    """Bytes, without what a device adds to align tensors (less than 128 each)."""
    kv = states = 0
    for layer in layout.layers:
        for item in layer.cache:
            if isinstance(item, KeysValues):
                kv += _bytes_of_rows(layout, layer, item, settings)
            elif isinstance(item, State):
                nbytes = 4 * math.prod(int(size) for size in item.shape)
                if item.name == "compressor":
                    kv += nbytes * settings.n_seq_max
                else:
                    states += nbytes * settings.n_seq_max
    return Reserved(kv, states)


def rows_held(
    settings: CellSettings, window: int | None, *, every: int = 1, apart: bool = False
) -> int:
    """Rows of one layer for all sequences. ``window`` None: it looks back at all tokens. ``every``
    tokens share a row; ``apart``: each sequence has rows of its own even where cells are shared."""
    shared = settings.kv_unified and not apart and every == 1
    cells = settings.cells
    if every > 1:
        cells = padded(max(1, -(-cells // every)))
    elif window is not None and not settings.swa_full:
        reach = window * (settings.n_seq_max if shared else 1)
        cells = padded(min(cells, reach + settings.step))
    return cells * (1 if shared else settings.n_seq_max)


def _bytes_of_rows(
    layout: CacheLayout, layer: CacheLayer, item: KeysValues, settings: CellSettings
) -> int:
    windowed = layer.windowed and not item.name
    rows = rows_held(
        settings, layout.window if windowed else None, every=item.every, apart=item.by_sequence
    )
    flash = settings.flash_attn and layout.architecture not in _NO_FLASH
    value = int(item.value)
    if value and not flash and layout.widest_value and not item.name:
        value = layout.widest_value
    return sum(
        int(rows * size * bytes_an_element(dtype))
        for size, dtype in ((int(item.key), settings.type_k), (value, settings.type_v))
    )
