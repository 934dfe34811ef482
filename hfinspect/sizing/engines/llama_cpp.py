"""How llama.cpp holds a model, read at commit 02c28f53 (``llama-kv-cache-iswa.cpp``).

Cells in steps of 256; a windowed layer holds ``n_seq_max · n_swa + n_ubatch`` cells, at most the
context; states are float32. Each GPU gets some of the layers. What llama-server calls ``-np``,
``--no-kv-unified``, ``--swa-full``, ``-ctk``, ``-ctv`` and ``-fa`` are fields here. The rows are
compared with what llama.cpp reserved in fixtures/oracle/llama_cpp.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...core.footprint import Workspace
from ...core.records import dataclass
from ...errors import UsageError
from ...trees.cache_layout import CacheItem, KeysValues
from ...trees.prediction import Prediction
from ..cache_request import CachedLayer, CacheRequest
from .cache_dtypes import GGML_BLOCKS, PLAIN, bytes_an_element, packed, two_dtypes
from .interface import Engine, Support, not_known_here, padded, windows_of
from .llama_cpp_graph import WITHOUT_FLASH, graph_of
from .llama_cpp_step import Step

if TYPE_CHECKING:
    from ..workspace import WorkspaceLimit


#: The most sequences of one context (LLAMA_MAX_SEQ).
MAX_SLOTS: Final = 256


@dataclass(frozen=True)
class LlamaCpp(Engine):
    """One cache of cells for all sequences, or one for each.

    Fields:
        slots: sequences that the cache is made for (``n_seq_max``); None: as many as run
        split: each sequence has cells of its own (not ``kv_unified``)
        swa_full: windowed layers hold the whole context
        flash: flash attention
    """

    cells: int = 256
    slots: int | None = None
    split: bool = False
    swa_full: bool = False
    flash: bool = True

    name: ClassVar[str] = "llama.cpp"
    version: ClassVar[str] = "0c1e57098"
    cache_dtypes: ClassVar[tuple[str, ...] | None] = (*PLAIN, *GGML_BLOCKS)
    default_cache_dtype: ClassVar[str | None] = "F16"
    state_dtype: ClassVar[str | None] = "F32"
    kernel_less: ClassVar[int] = 1
    last_stage_is_full: ClassVar[bool] = False
    support: ClassVar[Support | None] = Support("llama.cpp", "llama.cpp", False)
    default_step: ClassVar[int | None] = 512
    workspace_parts: ClassVar[str] = "compute buffer + runtime"
    places_layers: ClassVar[bool] = True
    deals_layers: ClassVar[bool] = False
    runs_gguf: ClassVar[bool] = True
    runs_others: ClassVar[bool] = False
    reads_key_values: ClassVar[bool] = True
    converts: ClassVar[bool] = True

    def state_sequences(self, batch: int) -> int:
        return batch if self.slots is None else max(self.slots, batch)

    def rows(self, window: int | None, tokens: int, batch: int) -> int:
        return self._step_of(tokens, batch).rows(window)

    def rows_of(self, item: KeysValues, window: int | None, tokens: int, batch: int) -> int:
        step = self._step_of(tokens + int(item.before), batch)
        looks_back = None if item.name else window
        return step.rows(looks_back, every=item.every, apart=item.by_sequence)

    def _step_of(self, tokens: int, batch: int) -> Step:
        """Of a context that holds ``batch`` sequences of so many tokens."""
        sequences = self.state_sequences(batch)
        return Step(
            tokens * (sequences if self.split else batch),
            n_seq_max=sequences,
            n_ubatch=self.step,
            kv_unified=not self.split,
            swa_full=self.swa_full,
        )

    def rows_formula(self, window: str) -> str:
        sequences = "b" if self.slots is None else str(self.slots)
        if self.split:
            times = f"{sequences}·"
            of_all = "N"
            reach = window
        else:
            times = ""
            of_all = "b·N"
            reach = f"{sequences}·{window}"
        cells = f"{self.cells}·⌈{of_all}/{self.cells}⌉"
        inner = f"{self.cells}·⌈({reach} + {self.step})/{self.cells}⌉"
        return times + (f"min({cells}, {inner})" if window else cells)

    def window_full(self, window: int, batch: int) -> int:
        if self.split:
            return padded(window + self.step, self.cells)
        return padded(self.state_sequences(batch) * window + self.step, self.cells) // batch

    def with_settings(
        self, *, slots: int | None, split_cache: bool, swa_full: bool, flash_attention: bool
    ) -> Engine:
        if slots is not None and (isinstance(slots, bool) or not 1 <= slots <= MAX_SLOTS):
            raise UsageError(f"slots {slots!r}", "are not possible", expected=f"1 to {MAX_SLOTS}")
        return replace(
            self, slots=slots, split=split_cache, swa_full=swa_full, flash=flash_attention
        )

    # ---- dtypes

    def cache_dtype(self, name: str) -> str:
        """As every engine, and two of them: ``q8_0/f16`` are keys in q8_0 and values in F16."""
        key, both, value = name.partition("/")
        if not both:
            return super().cache_dtype(name)
        key = super().cache_dtype(key.strip())
        value = super().cache_dtype(value.strip())
        return key if key == value else f"{key}/{value}"

    def cache_refusal(self, item: KeysValues, dtype: str) -> str:
        key, value = two_dtypes(dtype)
        if item.latent and key != value and not item.name:
            return "llama.cpp keeps latents: keys and values are of one type"
        if _block(value) > 1 and not self.flash:
            return f"values in {value} need flash attention"
        if item.dtype is not None:
            return ""
        for what, size, one in (("keys", item.key, key), ("values", item.value, value)):
            if int(size) % _block(one):
                return f"{one} has blocks of {_block(one)}, and a row has {int(size):,} elements"
            head = int(size) // item.heads if item.heads and not item.latent else 0
            if self.flash and head % _block(one):
                return (
                    f"{one} has blocks of {_block(one)}, and heads of {what} have {head} elements"
                )
        return ""

    def recurrent_dtype(
        self, prediction: Prediction, config: Mapping[str, Any] | None, dtype: str
    ) -> str | None:
        return None

    def in_pages(
        self, layers: Sequence[CachedLayer], request: CacheRequest
    ) -> tuple[Sequence[CachedLayer], Engine]:
        """Without flash attention all rows of values are as wide as the widest, and with
        ``swa_full`` no layer has a window."""
        if self.swa_full:
            layers = [replace(layer, window=None) for layer in layers]
        values = {
            int(item.value)
            for layer in layers
            for item in layer.keys_values
            if not (item.name or item.latent)
        }
        if self.flash or len(values - {0}) < 2:
            return layers, self
        widest = max(values)
        return [
            replace(layer, cache=tuple(_widened(item, widest) for item in layer.cache))
            for layer in layers
        ], self

    def workspace(self, limit: WorkspaceLimit, context: int, batch: int) -> Workspace:
        """The compute buffer (``llama_cpp_graph.py``), and the device's own runtime."""
        from ..workspace import RUNTIME_BYTES  # most runs size nothing

        name = limit.name
        step = self._step_of(context, batch)
        step = step._replace(
            quantized=True,
            flash=self.flash and name not in WITHOUT_FLASH,
            # llama-server keeps logits of one token a slot; others may want those of all.
            n_outputs=max(self.step, 2048) if self.slots is None else step.n_seq_max,
            element=bytes_an_element(two_dtypes(limit.cache_dtype)[0]),
        )
        facts = limit.facts
        graph = graph_of(
            limit.root,
            limit.layers,
            width=facts.width,
            heads=facts.heads,
            served=facts.experts_per_token,
            name=name,
            stacks=limit.stacks,
            deepstack=limit.deepstack,
            indexing=limit.indexing,
        )
        moment = graph.largest(step)
        return Workspace(
            logits=moment.logits,
            activation=moment.nbytes - moment.logits,
            runtime=RUNTIME_BYTES,
            formula=f"{moment.name}: {moment.formula} + {RUNTIME_BYTES:,}",
        )

    def usable(self, nbytes: int) -> int:
        return nbytes

    def unknown_layouts(self, layers: Sequence[CachedLayer]) -> Iterator[str]:
        return not_known_here(self.name, layers)

    def notes(
        self, layers: Sequence[CachedLayer], request: CacheRequest, first: int
    ) -> Iterator[str]:
        windows = windows_of(layers)
        sequences = self.state_sequences(request.batch)
        if self.swa_full:
            yield "windowed layers hold the whole context (--swa-full)"
        elif windows and self.split:
            yield (
                f"windowed layers hold {windows[-1]:,} + {self.step:,} cells in steps of 256 for "
                f"each of {sequences:,} slots, and at most the context"
            )
        elif windows:
            yield (
                f"windowed layers hold {sequences:,} × {windows[-1]:,} + {self.step:,} cells "
                "in steps of 256, for all sequences together, and at most the context"
            )
        if self.slots is None and (windows or any(layer.states for layer in layers)):
            yield "llama-server reserves 4 slots by default (-np); --slots 4 counts them"
        if self.split:
            yield f"llama-server's -c is {sequences * request.tokens:,}, for all slots together"

    def encoder_notes(self, nbytes: Callable[[], tuple[int, int]]) -> tuple[str, ...]:
        size, tokens = nbytes()
        text = f"made a cache of {size:,} bytes for {tokens:,} tokens of an encoder"
        return (f"llama.cpp before May 2025 {text} all the same, and never read it",)

    def check_parallel(self, devices: int) -> None:
        if devices > 1:
            raise UsageError(
                "engine llama.cpp",
                "has no such parallelism: it gives each GPU some of the layers",
                hint="name the GPUs, such as 2x24GB",
            )


def _widened(item: CacheItem, widest: int) -> CacheItem:
    if not isinstance(item, KeysValues) or item.name or item.latent or not item.value:
        return item
    return replace(item, value=widest)


def _block(dtype: str) -> int:
    """Elements of a block of a quantized type."""
    return packed(dtype)[1] if dtype.islower() else 1
