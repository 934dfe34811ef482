"""How SGLang 0.5.23 holds a model, ``mem_cache/memory_pool.py``.

A row a token; convolutions hold ``kernel - 1`` columns; an indexer (``DSATokenToKVPool``) is as in
vLLM. A step takes ``chunked_prefill_size`` tokens: 8,192 on cards from 60 GiB on, 16,384 from 160
GiB on, 4,096 from 20 GiB on and 2,048 below. On a named card the workspace is what SGLang leaves
free of it (``sglang_reserve.py``), or what a step takes where that is more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...core.records import dataclass
from ...core.tensor import TORCH_DTYPES
from ...trees.cache_layout import KeysValues
from ...trees.prediction import Prediction
from ..cache_request import CachedLayer
from .cache_dtypes import FLOAT8, PLAIN
from .float8_indexer import indexer_bytes, own_section
from .interface import Engine, RowPerToken, Support, not_known_here

if TYPE_CHECKING:
    from ...core.footprint import Workspace
    from ..workspace import WorkspaceLimit

#: Bytes of a card, and the tokens of a step from that size on; below the last, 2,048.
_STEPS: Final = ((160 * 1024**3, 16384), (60 * 1024**3, 8192), (20 * 1024**3, 4096))


@dataclass(frozen=True)
class Sglang(RowPerToken):
    """A pool of rows.

    Fields:
        device_step [tokens]: of a step that the server takes on the device
        device_nbytes [bytes]: of the device; 0 where none is named
        device_amd: whether AMD made it
        stages: that the layers are cut into
    """

    device_step: int = 8192
    device_nbytes: int = 0
    device_amd: bool = False
    stages: int = 1

    name: ClassVar[str] = "sglang"
    version: ClassVar[str] = "0.5.23"
    cache_dtypes: ClassVar[tuple[str, ...] | None] = (*PLAIN, *FLOAT8)
    default_cache_dtype: ClassVar[str | None] = None
    state_dtype: ClassVar[str | None] = None
    kernel_less: ClassVar[int] = 1
    last_stage_is_full: ClassVar[bool] = True
    support: ClassVar[Support | None] = Support("sglang", "SGLang", True)
    default_step: ClassVar[int | None] = 8192
    workspace_parts: ClassVar[str] = "a step, or what SGLang leaves free"
    places_layers: ClassVar[bool] = False
    deals_layers: ClassVar[bool] = False
    runs_gguf: ClassVar[bool] = False
    runs_others: ClassVar[bool] = True
    reads_key_values: ClassVar[bool] = False
    converts: ClassVar[bool] = False

    def bytes_of_rows(
        self, item: KeysValues, rows: int, dtype: str, heads: int | None = None
    ) -> int:
        if item.name == "indexer":
            return indexer_bytes(self.row_elements(item), rows)
        return super().bytes_of_rows(item, rows, dtype, heads)

    @property
    def step(self) -> int:
        return self.step_tokens or self.device_step

    def on_device(self, nbytes: int, name: str) -> Engine:
        from ..cards import cards

        step = next((tokens for size, tokens in _STEPS if nbytes >= size), 2048)
        known = cards().get(name)
        amd = known is not None and known.family.startswith("gfx")
        return replace(self, device_step=step, device_nbytes=nbytes, device_amd=amd)

    def in_stages(self, count: int) -> Engine:
        return replace(self, stages=count)

    def recurrent_dtype(
        self, prediction: Prediction, config: Mapping[str, Any] | None, dtype: str
    ) -> str | None:
        """``mamba2_state_dtype``: the key mamba_ssm_dtype, else float32."""
        return TORCH_DTYPES.get(str(own_section(config).get("mamba_ssm_dtype")))

    def workspace(self, limit: WorkspaceLimit, context: int, batch: int) -> Workspace:
        step = limit.of_steps(min(batch * context, self.step), batch)
        return self._beside(step, limit) if self.device_nbytes else step

    def _beside(self, step: Workspace, limit: WorkspaceLimit) -> Workspace:
        """What is left free of the device, at least for a step."""
        from fractions import Fraction  # most runs size nothing

        from ..workspace import RUNTIME_BYTES
        from .sglang_reserve import MIB, HeldCard, left_free, served, static_share

        facts = limit.facts
        nbytes = self.device_nbytes
        model = served(limit.architecture, limit.config, facts.heads or 0, facts.context or 0)
        card = HeldCard(Fraction(nbytes, MIB), limit.ranks, self.stages, self.device_amd)
        left = left_free(nbytes, card, self.step, model, RUNTIME_BYTES)
        if left <= step.nbytes:
            return step
        share = float(static_share(card, self.step, model))
        return replace(
            step,
            runtime=left - step.logits - step.activation,
            formula=f"{left:,} that SGLang leaves free (mem_fraction_static {share:.3f}), of which "
            f"a step takes {step.formula}",
        )

    def usable(self, nbytes: int) -> int:
        return nbytes

    def unknown_layouts(self, layers: Sequence[CachedLayer]) -> Iterator[str]:
        return not_known_here(self.name, layers)

    def check_parallel(self, devices: int) -> None:
        return
