"""The least that any engine must hold between two tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...core.records import dataclass
from ...trees.cache_layout import KeysValues
from ...trees.prediction import Prediction
from ..cache_request import CachedLayer
from .interface import RowPerToken, Support
from .vllm import bytes_in_layout, cache_refusal

if TYPE_CHECKING:
    from ...core.footprint import Workspace
    from ..workspace import WorkspaceLimit

#: Tokens of a prompt that are worked on at once where no engine says it: engines cut longer ones.
PREFILL_TOKENS: Final = 2048


@dataclass(frozen=True)
class Logical(RowPerToken):
    """Every row that a later token looks at, once, in the cache's dtype."""

    name: ClassVar[str] = "logical"
    version: ClassVar[str] = ""
    cache_dtypes: ClassVar[tuple[str, ...] | None] = None
    default_cache_dtype: ClassVar[str | None] = None
    state_dtype: ClassVar[str | None] = None
    kernel_less: ClassVar[int] = 1
    last_stage_is_full: ClassVar[bool] = False
    support: ClassVar[Support | None] = None
    default_step: ClassVar[int | None] = None
    workspace_parts: ClassVar[str] = "logits + widest layer + runtime"
    places_layers: ClassVar[bool] = False
    deals_layers: ClassVar[bool] = False
    runs_others: ClassVar[bool] = True
    reads_key_values: ClassVar[bool] = True
    converts: ClassVar[bool] = False
    runs_gguf: ClassVar[bool] = True

    @property
    def step(self) -> int:
        return PREFILL_TOKENS

    def recurrent_dtype(
        self, prediction: Prediction, config: Mapping[str, Any] | None, dtype: str
    ) -> str | None:
        return None

    def bytes_of_rows(
        self, item: KeysValues, rows: int, dtype: str, heads: int | None = None
    ) -> int:
        # It takes the dtypes of every engine; those of vLLM have bytes next to the values, and
        # llama.cpp has two.
        if "/" in dtype:
            return super().bytes_of_rows(item, rows, dtype, heads)
        return bytes_in_layout(item, rows, dtype, heads)

    def cache_refusal(self, item: KeysValues, dtype: str) -> str:
        return cache_refusal(item, dtype)

    def workspace(self, limit: WorkspaceLimit, context: int, batch: int) -> Workspace | None:
        from .prompt_pass import has_rule  # most runs size nothing

        return limit.at(min(context, self.step), batch) if has_rule(limit) else None

    def usable(self, nbytes: int) -> int:
        return nbytes

    def unknown_layouts(self, layers: Sequence[CachedLayer]) -> Iterator[str]:
        return iter(())

    def check_parallel(self, devices: int) -> None:
        return
