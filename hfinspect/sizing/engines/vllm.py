"""How vLLM holds a model, read at commit 001cabc1 (``v1/kv_cache_interface.py``).

Blocks of 16 tokens; a windowed layer reserves ``cdiv(min(window - 1 + max_num_batched_tokens, len),
block) + 1`` blocks; one state a sequence. fp8_ds_mla is 656 bytes a token and layer, nvfp4 9 bytes
for 16 values, a dtype per token and head adds a float32 scale for each; an indexer
(``models/deepseek_v2.py``) keeps one byte a value and a float32 scale for 128 of them. Checked
against 0.33.0: there a step may be two (asynchronous scheduling), states are in the model's dtype,
and next to attention they get pages of its size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...core.records import dataclass
from ...core.tensor import TORCH_DTYPES
from ...trees.keeps import KeysValues, State
from ...trees.prediction import Prediction
from ..cache_request import Held, KeptLayer
from .cache_dtypes import FLOAT8, PLAIN, VLLM_DTYPES
from .float8_indexer import indexer_bytes, own_section
from .interface import Engine, Support, not_known_here, windows_of

if TYPE_CHECKING:
    from ...core.footprint import Workspace
    from ..workspace import WorkspaceLimit

#: Bytes that a row of each head has next to its values: one float32 scale.
_SCALES: Final[Mapping[str, int]] = {"int8_per_token_head": 4, "fp8_per_token_head": 4}
#: fp8_ds_mla: 512 values in float8, four float32 scales, 64 rotary ones in 16 bits.
_LATENT_ROW: Final = (512, 64, 656)
#: Tokens that a block of latents is a multiple of next to states.
_LATENT_STEP: Final = 128
#: Types whose states stay in float32 as in transformers (Kimi delta attention).
_FLOAT32: Final = frozenset({"kimi_linear", "glm5_next", "bailing_hybrid"})


@dataclass(frozen=True)
class Vllm(Engine):
    """Pages of blocks, of which each sequence takes whole ones."""

    cells: int = 16

    name: ClassVar[str] = "vllm"
    version: ClassVar[str] = "001cabc1"
    cache_dtypes: ClassVar[tuple[str, ...] | None] = (*PLAIN, *FLOAT8, *VLLM_DTYPES)
    default_cache_dtype: ClassVar[str | None] = None
    state_dtype: ClassVar[str | None] = None
    kernel_less: ClassVar[int] = 1
    support: ClassVar[Support | None] = Support("vllm", "vLLM", True)
    default_step: ClassVar[int | None] = 8192
    places_layers: ClassVar[bool] = False

    def rows(self, window: int | None, tokens: int, batch: int) -> int:
        longest = tokens if window is None else min(window - 1 + self.step, tokens)
        extra = 0 if window is None else 1
        return batch * (-(-longest // self.cells) + extra) * self.cells

    def rows_formula(self, window: str) -> str:
        step = self.cells
        longest = f"min({window} − 1 + {self.step:,}, N)" if window else "N"
        return f"b·{step}·(⌈{longest}/{step}⌉ + 1)" if window else f"b·{step}·⌈N/{step}⌉"

    def window_full(self, window: int, batch: int) -> int:
        return window - 1 + self.step

    def bytes_of_rows(
        self, item: KeysValues, rows: int, dtype: str, heads: int | None = None
    ) -> int:
        if item.name == "indexer":
            return indexer_bytes(self.row_elements(item), rows)
        if dtype == "fp8_ds_mla":
            return rows * _LATENT_ROW[2]
        both = bool(item.key) + bool(item.value)
        scales = _SCALES.get(dtype, 0) * rows * both * int(item.heads or heads or 1)
        return super().bytes_of_rows(item, rows, dtype, heads) + scales

    def recurrent_dtype(
        self, prediction: Prediction, config: Mapping[str, Any] | None, dtype: str
    ) -> str | None:
        """``--mamba-ssm-cache-dtype auto``: the model's own dtype, but for NemotronH's and
        Qwen3.5's key."""
        kind = prediction.model_type or ""
        if kind in _FLOAT32:
            return None
        if kind == "nemotron_h":
            return TORCH_DTYPES.get(str((config or {}).get("mamba_ssm_cache_dtype")))
        named = TORCH_DTYPES.get(str(own_section(config).get("mamba_ssm_dtype")))
        if kind.startswith("qwen3_5") and named is not None:
            return named
        return dtype

    def in_pages(
        self, layers: Sequence[KeptLayer], held: Held
    ) -> tuple[Sequence[KeptLayer], Engine]:
        """States get pages as large as those of attention: the block grows until a page holds a
        layer's states, and what is left of the page is padding, which the layers returned keep too.

        Source: ``Platform`` in platforms/interface.py, with mamba_cache_mode ``none``."""
        rows = (
            item
            for layer in layers
            if layer.window is None
            for item in layer.keys_values
            if not item.cross
        )
        row = next(rows, None)
        if row is None or not any(layer.states for layer in layers):
            return layers, self
        alone = replace(held, batch=1)
        sizes = {
            layer: sum(self.state_bytes(item, alone) for item in layer.states)
            for layer in set(layers)
        }
        per_token = self.bytes_of_rows(row, 1, held.dtype, held.heads)
        step = max(self.cells, _LATENT_STEP) if row.latent else self.cells
        block = step * -(-max(sizes.values()) // (step * per_token))
        made = {
            layer: replace(
                layer, keeps=(*layer.keeps, State("padding", (block * per_token - size,), "U8"))
            )
            if size and size < block * per_token
            else layer
            for layer, size in sizes.items()
        }
        return tuple(made[layer] for layer in layers), replace(self, cells=block)

    def workspace(self, limit: WorkspaceLimit, context: int, batch: int) -> Workspace:
        return limit.at(min(context, self.step), batch)

    def unknown_layouts(self, layers: Sequence[KeptLayer]) -> Iterator[str]:
        return not_known_here(self.name, layers)

    def notes(self, layers: Sequence[KeptLayer], held: Held, first: int) -> Iterator[str]:
        if windows_of(layers):
            yield (
                f"vLLM's line 'GPU KV cache size' counts every layer in full, {first:,} bytes a "
                f"token; a windowed layer reserves blocks for its window and one step of "
                f"{self.step:,} tokens"
            )

    def parallel_notes(self, tensor: int, pipeline: int, expert: int) -> Iterator[str]:
        if 1 < expert < tensor:
            yield "vLLM's expert parallelism takes all devices of a stage: as many as --tp"


def not_held(item: KeysValues, dtype: str) -> str:
    """Why a cache of this dtype cannot hold the rows; empty where it can."""
    if dtype == "fp8_ds_mla" and not item.name:
        latent, rotary, _ = _LATENT_ROW
        if not item.latent or (int(item.key), int(item.value)) != (latent, rotary):
            return f"fp8_ds_mla holds latents of {latent} + {rotary} numbers only"
    elif dtype in VLLM_DTYPES and item.latent:
        return f"vLLM keeps no latents in {dtype}; fp8 or fp8_ds_mla"
    return ""
