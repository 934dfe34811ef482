"""How vLLM 0.33.0 holds a model (``v1/kv_cache_interface.py``, ``v1/core/kv_cache_planning.py``).

- Blocks of 16 tokens; a windowed layer reserves ``cdiv(min(window - 1 + in flight, len), block) +
  1`` blocks. In flight are the tokens of as many steps as the scheduler starts before one is
  settled (``max_in_flight_tokens``): two, as it is asynchronous, and one more with each further
  stage of a pipeline. A step takes ``max_num_batched_tokens``: 8,192 in the server on cards from
  70 GiB on, 16,384 from 160 GiB on, 2,048 on smaller ones and on the A100 (``get_batch_defaults``
  in engine/arg_utils.py).
- Layers of different kinds are cut into groups of equal length; what a group lacks is reserved all
  the same (``_get_kv_cache_groups_uniform_page_size``).
- Where layers of different kinds have rows of different sizes (Gemma 4, MiMo-V2-Flash), pages
  become as large as the largest: a smaller one that divides it holds as many times the tokens, any
  other is padded; latents that do not divide it make all layers one group without windows
  (``unify_kv_cache_spec_page_size``). That is the layout of FlashAttention and Triton, LBNHC.
- One state a sequence, in the model's dtype, in a page of attention's size. fp8_ds_mla is 656 bytes
  a token and layer, nvfp4 9 bytes for 16 values, a dtype per token and head adds a float32 scale
  for each; an indexer (``models/deepseek_v2.py``) keeps one byte a value and a float32 scale for
  128 of them.
- Of a device 92 of 100 bytes are taken (``gpu_memory_utilization``, config/cache.py).
- A profiling run at start samples for ``max_num_seqs`` sequences at once (1,024 from 70 GiB on, 256
  below), at most as many as a step has tokens: logits in the model's dtype, and in float32 once
  more, their probabilities and the noise to sample by (``sample/ops/topk_topp_sampler.py``). CUDA
  graphs come on top; their size is not in any config.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...core.records import dataclass
from ...core.tensor import TORCH_DTYPES
from ...trees.cache_layout import PADDING, CacheItem, KeysValues, State
from ...trees.prediction import Prediction
from ..cache_request import CachedLayer, CacheRequest
from .cache_dtypes import FLOAT8, PLAIN, VLLM_DTYPES, nbytes_of
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
#: Cards from these sizes on get larger steps.
_LARGE: Final = 70 * 1024**3
_LARGEST: Final = 160 * 1024**3
#: Types whose states stay in float32 as in transformers (Kimi delta attention).
_FLOAT32: Final = frozenset({"kimi_linear", "glm5_next", "bailing_hybrid"})


@dataclass(frozen=True)
class Vllm(Engine):
    """Pages of blocks, of which each sequence takes whole ones."""

    cells: int = 16
    #: Steps that are started before one is settled.
    steps_in_flight: int = 2
    #: Tokens of a step, and sequences at once, that the server takes on the device.
    device_step: int = 8192
    sequences: int = 1024
    #: Of pages that became one size: the rows of the largest, and what sizes them.
    largest: KeysValues | None = None
    sized_in: tuple[str, int | None] = ("BF16", None)

    name: ClassVar[str] = "vllm"
    version: ClassVar[str] = "0.33.0"
    cache_dtypes: ClassVar[tuple[str, ...] | None] = (*PLAIN, *FLOAT8, *VLLM_DTYPES)
    default_cache_dtype: ClassVar[str | None] = None
    state_dtype: ClassVar[str | None] = None
    kernel_less: ClassVar[int] = 1
    last_stage_is_full: ClassVar[bool] = False
    support: ClassVar[Support | None] = Support("vllm", "vLLM", True)
    default_step: ClassVar[int | None] = 8192
    workspace_parts: ClassVar[str] = "logits + widest layer + runtime"
    places_layers: ClassVar[bool] = False
    deals_layers: ClassVar[bool] = False
    runs_gguf: ClassVar[bool] = False
    runs_others: ClassVar[bool] = True
    reads_key_values: ClassVar[bool] = False
    converts: ClassVar[bool] = False

    @property
    def step(self) -> int:
        return self.step_tokens or self.device_step

    @property
    def in_flight(self) -> int:
        """Tokens that are scheduled and not settled."""
        return self.steps_in_flight * self.step

    def on_device(self, nbytes: int, name: str) -> Engine:
        small = nbytes < _LARGE or "A100" in name
        step = 16384 if nbytes >= _LARGEST else 2048 if small else 8192
        return replace(self, device_step=step, sequences=256 if small else 1024)

    def in_stages(self, count: int) -> Engine:
        return replace(self, steps_in_flight=count + 1)

    def usable(self, nbytes: int) -> int:
        return nbytes * 92 // 100

    def in_groups(self, layers: Sequence[CachedLayer]) -> Sequence[CachedLayer]:
        kinds: dict[tuple[CacheItem | int | None, ...], list[CachedLayer]] = {}
        for layer in layers:
            if layer.cache and not any(item.cross for item in layer.keys_values):
                kinds.setdefault((*layer.cache, layer.window), []).append(layer)
        windows = {layer.window if layer.keys_values else 0 for layer in layers if layer.cache}
        if len(windows) < 2 or not kinds:
            return layers  # layers that need as many tokens each are one group
        counts = [len(alike) for alike in kinds.values()]
        group = min(counts) if max(counts) >= 1.5 * min(counts) else max(counts)
        return (
            *layers,
            *(_padding(alike[0]) for alike in kinds.values() for _ in range(-len(alike) % group)),
        )

    def rows(self, window: int | None, tokens: int, batch: int) -> int:
        longest = tokens if window is None else min(window - 1 + self.in_flight, tokens)
        extra = 0 if window is None else 1
        return batch * (-(-longest // self.cells) + extra) * self.cells

    def rows_of(self, item: KeysValues, window: int | None, tokens: int, batch: int) -> int:
        return super(Vllm, self.holding(item)).rows_of(item, window, tokens, batch)

    def holding(self, item: KeysValues) -> Vllm:
        """With the block that this item has in pages of one size."""
        if self.largest is None or item.cross:
            return self
        page, size = (bytes_in_layout(one, 1, *self.sized_in) for one in (self.largest, item))
        return replace(self, cells=self.cells * (page // size)) if page % size == 0 else self

    def rows_formula(self, window: str) -> str:
        step = self.cells
        flying = f"{self.steps_in_flight}·{self.step:,}"
        longest = f"min({window} − 1 + {flying}, N)" if window else "N"
        return f"b·{step}·(⌈{longest}/{step}⌉ + 1)" if window else f"b·{step}·⌈N/{step}⌉"

    def window_full(self, window: int, batch: int) -> int:
        return window - 1 + self.in_flight

    def bytes_of_rows(
        self, item: KeysValues, rows: int, dtype: str, heads: int | None = None
    ) -> int:
        if item.name == "indexer":
            return indexer_bytes(self.row_elements(item), rows)
        largest = self.largest
        if largest is None or item.cross or self.holding(item).cells > self.cells:
            return bytes_in_layout(item, rows, dtype, heads)
        return bytes_in_layout(largest, rows, dtype, heads)  # padded, or the largest itself

    def cache_refusal(self, item: KeysValues, dtype: str) -> str:
        return cache_refusal(item, dtype)

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
        config_dtype = TORCH_DTYPES.get(str(own_section(config).get("mamba_ssm_dtype")))
        if kind.startswith("qwen3_5") and config_dtype is not None:
            return config_dtype
        return dtype

    def in_pages(
        self, layers: Sequence[CachedLayer], request: CacheRequest
    ) -> tuple[Sequence[CachedLayer], Engine]:
        """States get pages as large as those of attention: the block grows until a page holds a
        layer's states, and what is left of the page is padding, which the layers returned keep too.

        Source: ``Platform`` in platforms/interface.py, with mamba_cache_mode ``none``. Without
        states, pages of different sizes become one."""
        rows = (
            item
            for layer in layers
            if layer.window is None
            for item in layer.keys_values
            if not item.cross
        )
        row = next(rows, None)
        if not any(layer.states for layer in layers):
            return self._unified(layers, request)
        if row is None or not (row.key or row.value):
            return layers, self
        alone = replace(request, batch=1)
        sizes = {
            layer: sum(self.state_bytes(item, alone) for item in layer.states)
            for layer in set(layers)
        }
        per_token = self.bytes_of_rows(row, 1, request.dtype, request.heads)
        step = max(self.cells, _LATENT_STEP) if row.latent else self.cells
        block = step * -(-max(sizes.values()) // (step * per_token))
        padded = {
            layer: replace(
                layer, cache=(*layer.cache, State("padding", (block * per_token - size,), "U8"))
            )
            if size and size < block * per_token
            else layer
            for layer, size in sizes.items()
        }
        return tuple(padded[layer] for layer in layers), replace(self, cells=block)

    def _unified(
        self, layers: Sequence[CachedLayer], request: CacheRequest
    ) -> tuple[Sequence[CachedLayer], Vllm]:
        """Pages of one size, where layers need different numbers of tokens."""
        cached = [layer for layer in layers if layer.cache]
        alone = all(len(one.cache) == 1 for one in cached)
        items = dict.fromkeys(item for layer in cached for item in layer.keys_values)
        if self.largest or not alone or len({layer.window for layer in cached}) < 2:
            return layers, self
        sizes = {item: bytes_in_layout(item, 1, request.dtype, request.heads) for item in items}
        largest = max(sizes, key=lambda item: sizes[item])
        if len(set(sizes.values())) < 2:
            return layers, self
        if any(item.latent and sizes[largest] % size for item, size in sizes.items()):
            return [replace(layer, window=None) for layer in layers], self
        return layers, replace(self, largest=largest, sized_in=(request.dtype, request.heads))

    def workspace(self, limit: WorkspaceLimit, context: int, batch: int) -> Workspace:
        # The profiling run takes a whole step, whatever comes later.
        return limit.of_steps(self.step, min(self.sequences, self.step))

    def unknown_layouts(self, layers: Sequence[CachedLayer]) -> Iterator[str]:
        return not_known_here(self.name, layers)

    def notes(
        self, layers: Sequence[CachedLayer], request: CacheRequest, first: int
    ) -> Iterator[str]:
        if windows_of(layers):
            yield (
                f"vLLM's line 'GPU KV cache size' counts every layer in full, {first:,} bytes a "
                f"token; a windowed layer reserves blocks for its window and "
                f"{self.steps_in_flight} steps of {self.step:,} tokens"
            )
        if self.largest is not None:
            yield (
                "vLLM makes pages of one size: layers with smaller rows hold more tokens in each, "
                "or pad it"
            )

    def check_parallel(self, devices: int) -> None:
        return

    def parallel_notes(self, tensor: int, pipeline: int, expert: int) -> Iterator[str]:
        if 1 < expert < tensor:
            yield "vLLM's expert parallelism takes all devices of a stage: as many as --tp"


def _padding(layer: CachedLayer) -> CachedLayer:
    """What is reserved for a layer that a group lacks."""
    items = (
        replace(item, name=PADDING) if isinstance(item, KeysValues) else item
        for item in layer.cache
    )
    return replace(layer, cache=tuple(items))


def bytes_in_layout(item: KeysValues, rows: int, dtype: str, heads: int | None) -> int:
    """Bytes of rows with what its own dtypes have next to the values; of other dtypes, the values.
    ``heads`` are the key/value heads where the item does not say."""
    if dtype == "fp8_ds_mla":
        return rows * _LATENT_ROW[2]
    both = bool(item.key) + bool(item.value)
    scales = _SCALES.get(dtype, 0) * rows * both * int(item.heads or heads or 1)
    return nbytes_of((int(item.key) + int(item.value)) * rows, item.dtype or dtype) + scales


def cache_refusal(item: KeysValues, dtype: str) -> str:
    """Why a cache of this dtype cannot hold the rows; empty where it can."""
    if dtype == "fp8_ds_mla" and not item.name:
        latent, rotary, _ = _LATENT_ROW
        if not item.latent or (int(item.key), int(item.value)) != (latent, rotary):
            return f"fp8_ds_mla holds latents of {latent} + {rotary} numbers only"
    elif dtype in VLLM_DTYPES and item.latent:
        return f"vLLM keeps no latents in {dtype}; fp8 or fp8_ds_mla"
    return ""
