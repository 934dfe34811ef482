"""The sum at any context and batch: weights, cache and workspace of the fullest device."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from ..core.cache_size import CacheSize
from ..core.footprint import AtContext, Stage, WeightBytes, Workspace
from ..core.media_tokens import MediaTokens
from ..core.records import dataclass
from ..core.results import Inspection
from ..errors import UsageError
from ..trees.prediction import Prediction
from .cache_request import CachedLayer, CacheRequest
from .cards import Card
from .engines.cache_dtypes import bytes_an_element
from .engines.interface import Engine
from .gguf_layers import deepstack_layers, indexing_of
from .kv_cache import (
    CountedCaches,
    cache_bytes,
    cache_size,
    caches_under,
    decoder_blocks,
    decoder_stacks,
)
from .memory_request import MemoryRequest
from .offload import Parts, Splitter, weights_by_layer
from .own_cache import NOTHING_READ, cache_dtype, encoder_positions, state_dtype
from .parallel import divided, stage_weights, stages
from .workspace import WorkspaceLimit


def sizer(
    inspection: Inspection,
    prediction: Prediction,
    layers: Sequence[CachedLayer],
    weights: WeightBytes,
    request: MemoryRequest,
) -> "Sizer":
    """Of the layers of ``cached_layers``, whose layouts are all known."""
    parallel = request.parallel
    parts = [range(len(layers))]
    if parallel.pipeline > 1:
        _check_stages(prediction, layers)
        parts = stages(len(layers), parallel.pipeline, request.engine)
    by_part: list[int | None] = [weights.nbytes]
    if not parallel.alone:
        by_part = [None] * len(parts)
        if weights.nbytes is not None:
            more = 0 if request.adapter is None else request.adapter.nbytes
            by_part = [
                size + more for size in stage_weights(inspection, prediction, parallel, parts)
            ]
    by_layer: Parts | str | None = None
    if request.engine.places_layers:
        by_layer = weights_by_layer(inspection, prediction, len(layers))
        if isinstance(by_layer, Parts) and request.adapter is not None:
            by_layer = replace(by_layer, everywhere=by_layer.everywhere + request.adapter.nbytes)
        if isinstance(by_layer, Parts):
            by_part = [by_layer.on_gpu]
    cut_layers = [divided(layer, parallel.tensor, inspection) for layer in layers]
    cache_request, assumed = cache_request_of(inspection, prediction, request)
    paged, engine = request.engine.in_pages(cut_layers, cache_request)
    request = replace(request, engine=engine)
    size = bytes_an_element("F32" if prediction.dtype == "F32" else "BF16")
    return Sizer(
        tuple(
            StageLayers(part, tuple(paged[i] for i in part), weights_of)
            for part, weights_of in zip(parts, by_part, strict=True)
        ),
        WorkspaceLimit(
            prediction.root,
            size,
            parallel.tensor,
            tuple(layers),
            tuple(decoder_stacks(prediction.root)),
            inspection.facts,
            inspection.model_type or "",
            deepstack_layers(inspection, prediction.root),
            indexing_of(inspection),
            prediction.architecture,
            inspection.config or {},
            cache_request.dtype,
            any(item.cross for layer in layers for item in layer.keys_values),
            cache_request.encoder_tokens,
        ),
        cache_request,
        assumed,
        request,
        by_layer,
    )


def cache_request_of(
    inspection: Inspection, prediction: Prediction, request: MemoryRequest
) -> tuple[CacheRequest, str]:
    """How a cache is held, at any context, and why in this dtype where nobody chose it."""
    dtype = request.dtype or ""
    assumed = ""
    if not dtype:
        stored = inspection.dtypes if inspection.source == "checkpoint" else NOTHING_READ
        is_gguf = inspection.format == "gguf"
        dtype, assumed = cache_dtype(prediction, request.engine, stored, is_gguf=is_gguf)
    positions = request.encoder_tokens
    if positions is None:
        positions = encoder_positions(prediction.root)
    of_states = state_dtype(prediction, dtype)
    return CacheRequest(
        tokens=0,
        batch=1,
        dtype=dtype,
        state_dtype=of_states,
        recurrent_dtype=request.engine.recurrent_dtype(prediction, inspection.config, of_states),
        encoder_tokens=positions,
        heads=inspection.facts.kv_heads or inspection.facts.heads,
    ), assumed


def _check_stages(prediction: Prediction, layers: Sequence[CachedLayer]) -> None:
    """Raises UsageError where no rule says which layers a stage has."""
    family = prediction.family
    if family is not None and family.category == "encoder-decoder":
        raise UsageError("pipeline_parallel", "is not known for encoder-decoders")
    if len(decoder_blocks(prediction.root)) != len(layers):
        raise UsageError("pipeline_parallel", "is not known for layers that are used repeatedly")


@dataclass(frozen=True)
class StageLayers:
    """The layers of one stage, what each of its devices keeps of them, and its weights."""

    part: range
    layers: Sequence[CachedLayer]
    weights: int | None


class ContextSum(NamedTuple):
    """Of the fullest device: its stage, the bytes of its cache, its workspace and all together,
    and whether that fits the device that was named."""

    stage: int
    cache: int
    workspace: Workspace | None
    total: int | None
    fits: bool | None


@dataclass(frozen=True)
class Sizer:
    """ContextSum at any context and batch under one request."""

    stages: tuple[StageLayers, ...]
    limit: WorkspaceLimit
    cache_request: CacheRequest
    assumed: str
    request: MemoryRequest
    by_layer: Parts | str | None = None

    @property
    def fullest_weights(self) -> int | None:
        """Of the stage with the most weights."""
        weights = [stage.weights for stage in self.stages]
        known = [size for size in weights if size is not None]
        return max(known) if len(known) == len(weights) else None

    def at(self, context: int, batch: int) -> AtContext:
        """The sum on the fullest device, with what its cache consists of."""
        at, _, workspace, total, fits = self.sums(context, batch)
        stage = self.stages[at]
        number = at if len(self.stages) > 1 else None
        cache = self._cache(stage, context, batch)
        return AtContext(cache, workspace, total, fits, weights=stage.weights, stage=number)

    def sums(self, context: int, batch: int) -> ContextSum:
        """The numbers of ``at`` alone: a hundred contexts are tried for the longest that fits."""
        workspace = self.request.engine.workspace(self.limit, context, batch)
        request = replace(self.cache_request, tokens=context, batch=batch)
        caches = [cache_bytes(*counted, request) for counted in self._stage_caches]
        totals = [
            None
            if stage.weights is None or workspace is None
            else stage.weights + cache + workspace.nbytes
            for stage, cache in zip(self.stages, caches, strict=True)
        ]
        fullest = max(range(len(caches)), key=lambda i: totals[i] or caches[i])
        total = totals[fullest]
        fits = None
        device = self.request.device
        if device is not None and total is not None and workspace is not None:
            if isinstance(self.by_layer, Parts):
                by_layer = self.cache_by_layer(context, batch)
                total = Splitter(self.by_layer, by_layer, workspace.nbytes, device).whole().fullest
            fits = total <= device.nbytes
        return ContextSum(fullest, caches[fullest], workspace, total, fits)

    @cached_property
    def _stage_caches(self) -> list[tuple[CountedCaches, Engine]]:
        return [self._counted(stage.layers) for stage in self.stages]

    @cached_property
    def _layer_caches(self) -> dict[CachedLayer, tuple[CountedCaches, Engine]]:
        layers = {layer for stage in self.stages for layer in stage.layers}
        return {layer: self._counted((layer,)) for layer in layers}

    def _counted(self, layers: Sequence[CachedLayer]) -> tuple[CountedCaches, Engine]:
        return caches_under(layers, self.request.engine, self.cache_request)

    def holds(self, main: AtContext, card: Card) -> bool:
        """Whether a card holds ``main`` under the engine's own settings on that card."""
        engine = self.request.engine.on_device(card.nbytes, card.name)
        total = main.total
        request = replace(self.request, engine=engine, device=None)
        if engine != self.request.engine:
            total = replace(self, request=request).sums(main.context, self.request.batch).total
        return total is not None and total <= engine.usable(card.nbytes)

    def with_cache(self, one: MediaTokens) -> MediaTokens:
        """With the bytes that the cache of all devices holds of one item alone."""
        if one.tokens is None:
            return one
        positions = one.cross_tokens or self.cache_request.encoder_tokens
        request = replace(self.cache_request, tokens=one.tokens, batch=1, encoder_tokens=positions)
        size = sum(cache_size(s.layers, self.request.engine, request).nbytes for s in self.stages)
        return replace(one, cache_bytes=size)

    def cache_by_layer(self, context: int, batch: int) -> list[int]:
        """Bytes that each layer keeps; equal ones are computed once."""
        request = replace(self.cache_request, tokens=context, batch=batch)
        each = self._layer_caches.items()
        sizes = {layer: cache_bytes(*counted, request) for layer, counted in each}
        return [sizes[layer] for stage in self.stages for layer in stage.layers]

    def _cache(self, stage: StageLayers, context: int, batch: int) -> CacheSize:
        request = replace(self.cache_request, tokens=context, batch=batch)
        return cache_size(stage.layers, self.request.engine, request, assumed=self.assumed)

    def shown_stages(self, context: int, batch: int) -> tuple[Stage, ...]:
        """What each stage holds; none where there is one."""
        if len(self.stages) == 1:
            return ()
        last = len(self.stages) - 1
        return tuple(
            Stage(
                stage.part.start,
                stage.part.stop - 1,
                ("embedding",) * (i == 0) + ("head",) * (i == last),
                stage.weights,
                self._cache(stage, context, batch).nbytes,
            )
            for i, stage in enumerate(self.stages)
        )
