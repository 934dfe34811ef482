"""The caches of transformers, ``cache_utils.py``.

A windowed layer holds ``window - 1`` tokens in a DynamicCache and ``window`` in a StaticCache;
convolutions hold ``kernel`` columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...core.library_versions import TRANSFORMERS_RUN, TRANSFORMERS_RUN_SERIES
from ...core.records import dataclass
from ...trees.cache_layout import KeysValues
from ...trees.prediction import Prediction
from ..cache_request import CachedLayer, CacheRequest
from .cache_dtypes import PLAIN
from .interface import Engine, RowPerToken, Support, keeps_prompts_apart, shares_rows

if TYPE_CHECKING:
    from ...core.footprint import Workspace
    from ..workspace import WorkspaceLimit

#: Types of which transformers has no cache.
_WITHOUT_CACHE: Final = frozenset({"flaubert", "openai-gpt", "xlm"})


@dataclass(frozen=True)
class Transformers(RowPerToken):
    """A DynamicCache: rows are added as tokens come. ``eager``: attention without a fused kernel,
    which types without one have always."""

    eager: bool = False

    static: ClassVar[bool] = False
    name: ClassVar[str] = "transformers"
    version: ClassVar[str] = TRANSFORMERS_RUN
    cache_dtypes: ClassVar[tuple[str, ...] | None] = PLAIN
    default_cache_dtype: ClassVar[str | None] = None
    state_dtype: ClassVar[str | None] = None
    kernel_less: ClassVar[int] = 0
    last_stage_is_full: ClassVar[bool] = False
    support: ClassVar[Support | None] = None
    default_step: ClassVar[int | None] = None
    workspace_parts: ClassVar[str] = "a prompt's largest moment + runtime"
    places_layers: ClassVar[bool] = False
    runs_gguf: ClassVar[bool] = False
    runs_others: ClassVar[bool] = True
    reads_key_values: ClassVar[bool] = False
    converts: ClassVar[bool] = False
    deals_layers: ClassVar[bool] = True

    def with_settings(
        self, *, slots: int | None, split_cache: bool, swa_full: bool, flash_attention: bool
    ) -> Engine:
        plain = super().with_settings(
            slots=slots, split_cache=split_cache, swa_full=swa_full, flash_attention=True
        )
        return plain if flash_attention else replace(self, eager=True)

    def row_copies(self, item: KeysValues) -> int:
        return item.repeated

    def recurrent_dtype(
        self, prediction: Prediction, config: Mapping[str, Any] | None, dtype: str
    ) -> str | None:
        return None

    def workspace(self, limit: WorkspaceLimit, context: int, batch: int) -> Workspace | None:
        from .prompt_pass import has_rule, prompt_pass  # most runs size nothing

        if not has_rule(limit):
            return None
        return prompt_pass(limit, context, batch, eager=self.eager, static=self.static)

    def usable(self, nbytes: int) -> int:
        return nbytes

    def unknown_layouts(self, layers: Sequence[CachedLayer]) -> Iterator[str]:
        return iter(())

    def refused_type(self, model_type: str | None) -> str:
        if model_type not in _WITHOUT_CACHE:
            return ""
        return (
            f"transformers {self.version} has no cache for it: it computes each token from all "
            "earlier ones"
        )

    def notes(
        self, layers: Sequence[CachedLayer], request: CacheRequest, first: int
    ) -> Iterator[str]:
        if any(item.repeated > 1 for layer in layers for item in layer.keys_values):
            yield "transformers broadcasts keys and values to all query heads before keeping them"

    def check_parallel(self, devices: int) -> None:
        return

    def parallel_notes(self, tensor: int, pipeline: int, expert: int) -> Iterator[str]:
        if pipeline > 1:
            yield "transformers has no pipeline stages of its own; device_map places layers"


@dataclass(frozen=True)
class TransformersStatic(Transformers):
    """A StaticCache: all rows are there from the first token on."""

    static: ClassVar[bool] = True
    name: ClassVar[str] = "transformers-static"

    def rows_formula(self, window: str) -> str:
        return f"b·min(N, {window})" if window else "b·N"

    def window_full(self, window: int, batch: int) -> int:
        return window

    def unknown_layouts(self, layers: Sequence[CachedLayer]) -> Iterator[str]:
        if shares_rows(layers):
            yield f"transformers {TRANSFORMERS_RUN_SERIES} has no StaticCache of compressed keys"
        if keeps_prompts_apart(layers):
            yield f"how {self.name} stores a prompt before generated tokens is unknown"
        if not all(layer.static for layer in layers):
            yield (
                f"transformers {TRANSFORMERS_RUN_SERIES} fills no StaticCache for it: it keeps a "
                "cache of its own, or fails"
            )

    def notes(
        self, layers: Sequence[CachedLayer], request: CacheRequest, first: int
    ) -> Iterator[str]:
        yield "a StaticCache is this large from the first token on"
        yield from super().notes(layers, request, first)
