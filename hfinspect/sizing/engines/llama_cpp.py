"""How llama.cpp holds a model, read at commit 02c28f53 (``llama-kv-cache-iswa.cpp``).

Cells in steps of 256; a windowed layer holds ``n_seq_max · n_swa + n_ubatch`` cells, at most the
context; states are float32. Each GPU gets some of the layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...core.footprint import Workspace
from ...core.records import dataclass
from ...errors import UsageError
from ...trees.cache_layout import KeysValues
from ...trees.prediction import Prediction
from ..cache_request import CachedLayer, CacheRequest
from .cache_dtypes import GGML_BLOCKS, PLAIN
from .interface import Engine, Support, not_known_here, padded, windows_of
from .llama_cpp_graph import WITHOUT_FLASH, Step, graph_of

if TYPE_CHECKING:
    from ..workspace import WorkspaceLimit


@dataclass(frozen=True)
class LlamaCpp(Engine):
    """One cache of cells for all sequences."""

    cells: int = 256

    name: ClassVar[str] = "llama.cpp"
    version: ClassVar[str] = "0c1e57098"
    cache_dtypes: ClassVar[tuple[str, ...] | None] = (*PLAIN, *GGML_BLOCKS)
    default_cache_dtype: ClassVar[str | None] = "F16"
    state_dtype: ClassVar[str | None] = "F32"
    kernel_less: ClassVar[int] = 1
    last_stage_is_full: ClassVar[bool] = False
    support: ClassVar[Support | None] = Support("llama.cpp", "llama.cpp", False)
    default_step: ClassVar[int | None] = 512
    places_layers: ClassVar[bool] = True
    deals_layers: ClassVar[bool] = False
    runs_gguf: ClassVar[bool] = True
    runs_others: ClassVar[bool] = False
    reads_key_values: ClassVar[bool] = True
    converts: ClassVar[bool] = True

    def rows(self, window: int | None, tokens: int, batch: int) -> int:
        cells = padded(tokens * batch, self.cells)
        if window is None:
            return cells
        return min(cells, padded(batch * window + self.step, self.cells))

    def rows_of_groups(self, item: KeysValues, tokens: int, batch: int) -> int:
        return batch * padded(-(-tokens // item.every) or 1, self.cells)

    def rows_formula(self, window: str) -> str:
        cells = f"{self.cells}·⌈b·N/{self.cells}⌉"
        inner = f"{self.cells}·⌈(b·{window} + {self.step})/{self.cells}⌉"
        return f"min({cells}, {inner})" if window else cells

    def window_full(self, window: int, batch: int) -> int:
        return padded(batch * window + self.step, self.cells) // batch

    def recurrent_dtype(
        self, prediction: Prediction, config: Mapping[str, Any] | None, dtype: str
    ) -> str | None:
        return None

    def in_pages(
        self, layers: Sequence[CachedLayer], held: CacheRequest
    ) -> tuple[Sequence[CachedLayer], Engine]:
        return layers, self

    def workspace(self, limit: WorkspaceLimit, context: int, batch: int) -> Workspace:
        """The compute buffer (``llama_cpp_graph.py``), and the device's own runtime."""
        from ..workspace import RUNTIME_BYTES  # most runs size nothing

        name = limit.name
        step = Step(
            context * batch, n_seq_max=batch, n_ubatch=self.step, quantized=True,
            flash=name not in WITHOUT_FLASH, n_outputs=max(self.step, 2048),
        )  # fmt: skip
        facts = limit.facts
        graph = graph_of(
            limit.root, limit.layers, width=facts.width, heads=facts.heads,
            served=facts.experts_per_token, name=name, stacks=limit.stacks,
        )  # fmt: skip
        moment = graph.largest(step)
        return Workspace(
            logits=moment.logits, activation=moment.nbytes - moment.logits, runtime=RUNTIME_BYTES,
            formula=f"{moment.name}: {moment.formula} + {RUNTIME_BYTES:,}",
        )  # fmt: skip

    def usable(self, nbytes: int) -> int:
        return nbytes

    def unknown_layouts(self, layers: Sequence[CachedLayer]) -> Iterator[str]:
        return not_known_here(self.name, layers)

    def notes(self, layers: Sequence[CachedLayer], held: CacheRequest, first: int) -> Iterator[str]:
        windows = windows_of(layers)
        if windows:
            yield (
                f"windowed layers hold {held.batch} × {windows[-1]:,} + {self.step:,} cells "
                "in steps of 256, for all sequences together, and at most the context"
            )

        if any(_chooses_blocks(layer) for layer in layers):
            yield (
                "llama.cpp's compute buffer is not derived for attention over chosen blocks of "
                "tokens: it may need more than the workspace given here"
            )

    def encoder_notes(self, nbytes: Callable[[], tuple[int, int]]) -> tuple[str, ...]:
        size, tokens = nbytes()
        made = f"made a cache of {size:,} bytes for {tokens:,} tokens of an encoder"
        return (f"llama.cpp before May 2025 {made} all the same, and never read it",)

    def check_parallel(self, devices: int) -> None:
        if devices > 1:
            raise UsageError(
                "engine llama.cpp",
                "has no such parallelism: it gives each GPU some of the layers",
                hint="name the GPUs, such as 2x24GB",
            )


def _chooses_blocks(layer: CachedLayer) -> bool:
    """Whether attention is over blocks that an indexer chooses, or over rows of many tokens. Over
    single latents it is known (DeepSeek-V3.2)."""
    rows = layer.keys_values
    chooses = any(item.name == "indexer" for item in rows)
    return any(item.every > 1 for item in rows) or (
        chooses and not any(item.latent and not item.name for item in rows)
    )
