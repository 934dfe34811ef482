"""The whole sum: weights, cache and workspace, on which device it fits and up to which context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ..core.cache_size import ENCODES, NO_KEY_VALUES, SEVERAL, CacheSize
from ..core.expectation import ASSUMED
from ..core.footprint import AtContext, Memory, Stage, WeightBytes
from ..core.offload_plan import Offload
from ..core.records import dataclass
from ..core.results import Inspection
from ..core.training_bytes import Training
from ..errors import UsageError
from ..trees.prediction import Prediction
from .cache_request import Held, KeptLayer
from .devices import smallest_card
from .engine_classes import gguf_refused, runs
from .engines.cache_dtypes import bytes_an_element
from .engines.interface import Engine
from .expanded_latents import layers_held
from .flops import count_flops
from .kv_cache import cache_size, decoder_blocks, kept_layers, unknown_layouts
from .offload import Parts, Splitter, plan_offload, weights_by_layer
from .own_cache import (
    NOTHING_READ,
    USUAL_CONTEXTS,
    cache_dtype,
    encoder_positions,
    no_cache,
    state_dtype,
)
from .parallel import divided, parallel_notes, stage_weights, stages
from .reading import count_reading
from .wish import MAX_BATCH, MAX_CONTEXT, Wish
from .workspace import WorkspaceLimit


def plan(found: Inspection, prediction: Prediction | None, wish: Wish) -> Memory:
    """Everything that is known; a cache that is not is refused by its reason, not guessed.

    ``prediction`` counts only where it is the catalog's: what transformers builds has no tree that
    says what is kept.
    """
    if prediction is not None and prediction.family is None:
        prediction = None
    if wish.width is not None:
        from .recipes.at_recipe import at_recipe

        found = at_recipe(found, prediction, wish.width)
    weights = _weights(found)
    training, training_unknown = _training(found, prediction, weights, wish)
    memory = partial(
        Memory, target=found.target, origin=found.origin, architecture=found.architecture,
        model_type=found.model_type, engine=wish.engine.name, version=wish.engine.version,
        batch=wish.batch, tensor_parallel=wish.parallel.tensor,
        pipeline_parallel=wish.parallel.pipeline, expert_parallel=wish.parallel.expert,
        own_context=found.facts.context,
        device=None if wish.device is None
        else (wish.device.name, wish.device.nbytes, wish.device.count),
        training=training, training_unknown=training_unknown,
    )  # fmt: skip
    is_gguf = found.format == "gguf"
    reason = SEVERAL if found.members else no_cache(prediction, found.config, is_gguf=is_gguf)
    if reason == NO_KEY_VALUES:
        reason = gguf_refused(found.model_type)
    layers: tuple[KeptLayer, ...] = ()
    if not reason and prediction is not None:
        layers = layers_held(found, prediction.root, wish.engine)
        reason = refused(prediction, layers, wish.engine)
    if reason or prediction is None:
        return memory(
            weights=_weights_alone(weights, found, wish), cache_unknown=reason,
            notes=_once_held(found, prediction, wish) if reason == ENCODES else (),
        )  # fmt: skip
    return _with_cache(memory, found, prediction, layers, weights, wish)


def _once_held(
    found: Inspection, prediction: Prediction | None, wish: Wish
) -> tuple[str, ...]:  # fmt: skip
    """What the engine remarks on encoders."""
    if prediction is None:
        return ()
    layers = kept_layers(prediction.root)
    if unknown_layouts(layers, wish.engine):
        return ()
    tokens = wish.context or found.facts.context or USUAL_CONTEXTS[0]

    def made() -> tuple[int, int]:
        dtype = wish.dtype or wish.engine.default_cache_dtype or "F16"
        held = Held(tokens=tokens, batch=wish.batch, dtype=dtype)
        return cache_size(layers, wish.engine, held).nbytes, tokens

    return wish.engine.encoder_notes(made)


def refused(prediction: Prediction, layers: Sequence[KeptLayer], engine: Engine) -> str:
    """Why no cache is sized under an engine; empty where it is."""
    cannot = engine.refused_type(prediction.model_type)
    cannot = cannot or runs(engine, prediction.architecture, layers).refused
    return cannot or "; ".join(unknown_layouts(layers, engine))


def _with_cache(
    memory: Callable[..., Memory], found: Inspection, prediction: Prediction,
    layers: Sequence[KeptLayer], weights: WeightBytes, wish: Wish,
) -> Memory:  # fmt: skip
    """The sum at each context, and what follows from the last of them, the main one."""
    sized = sizer(found, prediction, layers, weights, wish)
    own, batch = found.facts.context, wish.batch
    at = tuple(sized.at(context, batch) for context in _contexts(own, wish.context))
    memory = partial(memory, weights=replace(weights, per_device=sized.fullest_weights), at=at)
    notes = _notes(found, layers, wish)
    note = runs(wish.engine, prediction.architecture, layers).note
    notes += [note] if note else []
    if not at:
        return memory(notes=tuple(notes))
    main = at[-1]
    offload, offload_unknown = None, ""
    if isinstance(sized.by_layer, str):
        offload_unknown = sized.by_layer
    elif sized.by_layer is not None:
        offload = _offload(sized, sized.by_layer, main)
        notes += _offload_notes(sized.by_layer, found)
    flops = count_flops(prediction, layers, main.context, batch)
    counted = None if isinstance(flops, str) else flops
    held = replace(sized.held, tokens=main.context, batch=batch)
    known = main.total is not None
    if known and own and main.context > own:
        notes.append(f"{main.context:,} tokens are more than the {own:,} that the config allows")
    limited = known and wish.device is not None
    return memory(
        notes=tuple(notes), offload=offload, offload_unknown=offload_unknown,
        flops=counted, flops_unknown=flops if isinstance(flops, str) else "",
        reading=count_reading(
            found, layers, held, counted, wish.bandwidth, wish.parallel.devices
        ),
        smallest_card=None if main.total is None else smallest_card(main.total),
        stages=sized.shown_stages(main.context, batch) if known else (),
        max_context=_largest(lambda n: sized.at(n, batch).fits, MAX_CONTEXT) if limited else None,
        max_batch=_largest(lambda n: sized.at(main.context, n).fits, MAX_BATCH)
        if limited else None,
    )  # fmt: skip


def _offload(sized: Sizer, parts: Parts, main: AtContext) -> Offload:
    cache = sized.cache_by_layer(main.context, sized.wish.batch)
    return plan_offload(parts, cache, main.context, main.workspace.nbytes, sized.wish.device)


def _offload_notes(parts: Parts, found: Inspection) -> list[str]:
    notes = []
    if found.format != "gguf":
        notes.append("llama.cpp reads GGUF: bytes are those of the weights as they are now")
    if parts.apart:
        notes.append("the parts for images and sound are a file of their own (--mmproj)")
    return notes


def _weights_alone(weights: WeightBytes, found: Inspection, wish: Wish) -> WeightBytes:
    """Weights on one device where the cache is not known."""
    if wish.parallel.pipeline > 1:
        raise UsageError(
            f"pipeline_parallel {wish.parallel.pipeline}",
            "needs a decoder whose layers are known", hint="leave it out",
        )  # fmt: skip
    if wish.parallel.alone or weights.nbytes is None:
        return weights
    (held,) = stage_weights(found, None, wish.parallel, [range(0)])
    return replace(weights, per_device=held)


def _notes(found: Inspection, layers: Sequence[KeptLayer], wish: Wish) -> list[str]:
    notes = [finding.text for finding in found.findings if finding.rule == ASSUMED]
    notes += parallel_notes(wish.parallel, wish.engine, found)
    if wish.width is not None:
        notes.append(f"weights are sized at {wish.width}, not as they are stored")
    if not any(layer.keeps for layer in layers):
        notes.append("it keeps nothing between tokens")
    return notes


def _training(
    found: Inspection, prediction: Prediction | None, weights: WeightBytes, wish: Wish
) -> tuple[Training | None, str]:
    """What a step of training holds, or why that is not known; neither where none is wished."""
    if wish.train is None:
        return None, ""
    if found.members:
        return None, SEVERAL
    from .training import size_training  # most questions are not about training

    sized = size_training(found, prediction, weights, wish.train, wish.device)
    return (None, sized) if isinstance(sized, str) else (sized, "")


def _contexts(own: int | None, named: int | None) -> tuple[int, ...]:
    if named is not None:
        return (named,)
    usual = [tokens for tokens in USUAL_CONTEXTS if own is None or tokens < own]
    return (*usual, own) if own else tuple(usual)


# ---- weights


def _weights(found: Inspection) -> WeightBytes:
    beyond = [group.nbytes for group in found.beyond]
    more = sum(size for size in beyond if size is not None)
    nbytes = None if found.nbytes is None else found.nbytes - more
    unknown = ""
    if nbytes is None:
        reasons = [finding.text for finding in found.findings if "bytes" in finding.text]
        no_dtype = found.source == "config" and "unknown" in found.dtypes
        usual = (
            "its config names no dtype" if no_dtype else "the bytes of some tensors are not known"
        )
        unknown = reasons[0] if reasons else usual
    return WeightBytes(
        nbytes=nbytes, source=found.source, parameters=found.parameters, per_device=nbytes,
        widths=found.memory, unknown=unknown,
    )  # fmt: skip


# ---- one context


def sizer(
    found: Inspection,
    prediction: Prediction,
    layers: Sequence[KeptLayer],
    weights: WeightBytes,
    wish: Wish,
) -> Sizer:
    """Of the layers of ``kept_layers``, whose layouts are all known."""
    parallel = wish.parallel
    parts = [range(len(layers))]
    if parallel.pipeline > 1:
        _check_stages(prediction, layers)
        parts = stages(len(layers), parallel.pipeline, wish.engine)
    held: list[int | None] = [weights.nbytes]
    if not parallel.alone:
        held = [None] * len(parts)
        if weights.nbytes is not None:
            held = [*stage_weights(found, prediction, parallel, parts)]
    by_layer: Parts | str | None = None
    if wish.engine.places_layers:
        by_layer = weights_by_layer(found, prediction, len(layers))
        if isinstance(by_layer, Parts):
            held = [by_layer.whole]
    kept = [divided(layer, parallel.tensor, found) for layer in layers]
    held_in, assumed = held_of(found, prediction, wish)
    paged, engine = wish.engine.in_pages(kept, held_in)
    wish = replace(wish, engine=engine)
    size = bytes_an_element("F32" if prediction.dtype == "F32" else "BF16")
    return Sizer(
        tuple(
            _StageLayers(part, tuple(paged[i] for i in part), weights_of)
            for part, weights_of in zip(parts, held, strict=True)
        ),
        WorkspaceLimit(prediction.root, size, parallel.tensor), held_in, assumed, wish, by_layer,
    )  # fmt: skip


def held_of(found: Inspection, prediction: Prediction, wish: Wish) -> tuple[Held, str]:
    """How a cache is held, at any context, and why in this dtype where nobody chose it."""
    dtype, assumed = wish.dtype or "", ""
    if not dtype:
        stored = found.dtypes if found.source == "checkpoint" else NOTHING_READ
        is_gguf = found.format == "gguf"
        dtype, assumed = cache_dtype(prediction, wish.engine, stored, is_gguf=is_gguf)
    seen = wish.encoder_tokens
    if seen is None:
        seen = encoder_positions(prediction.root)
    of_states = state_dtype(prediction, dtype)
    return Held(
        tokens=0, batch=1, dtype=dtype, state_dtype=of_states,
        recurrent_dtype=wish.engine.recurrent_dtype(prediction, found.config, of_states),
        encoder_tokens=seen,
        heads=found.facts.kv_heads or found.facts.heads,
    ), assumed  # fmt: skip


def _check_stages(prediction: Prediction, layers: Sequence[KeptLayer]) -> None:
    """Raises UsageError where no rule says which layers a stage has."""
    family = prediction.family
    if family is not None and family.category == "encoder-decoder":
        raise UsageError("pipeline_parallel", "is not known for encoder-decoders")
    if len(decoder_blocks(prediction.root)) != len(layers):
        raise UsageError("pipeline_parallel", "is not known for layers that are used repeatedly")


@dataclass(frozen=True)
class _StageLayers:
    """The layers of one stage, what each of its devices keeps of them, and its weights."""

    part: range
    layers: Sequence[KeptLayer]
    weights: int | None


@dataclass(frozen=True)
class Sizer:
    """Sums at any context and batch under one wish."""

    stages: tuple[_StageLayers, ...]
    limit: WorkspaceLimit
    held: Held
    assumed: str
    wish: Wish
    by_layer: Parts | str | None = None

    @property
    def fullest_weights(self) -> int | None:
        """Of the stage with the most weights."""
        held = [stage.weights for stage in self.stages]
        known = [size for size in held if size is not None]
        return max(known) if len(known) == len(held) else None

    def at(self, context: int, batch: int) -> AtContext:
        """The sum on the fullest device."""
        workspace = self.wish.engine.workspace(self.limit, context, batch)
        entries = [
            AtContext(
                cache, workspace,
                None if stage.weights is None else stage.weights + cache.nbytes + workspace.nbytes,
                weights=stage.weights, stage=i if len(self.stages) > 1 else None,
            )
            for i, stage in enumerate(self.stages)
            for cache in [self._cache(stage, context, batch)]
        ]  # fmt: skip
        fullest = max(entries, key=lambda entry: entry.total or entry.cache.nbytes)
        device = self.wish.device
        if device is None or fullest.total is None:
            return fullest
        if isinstance(self.by_layer, Parts):
            kept = self.cache_by_layer(context, batch)
            whole = Splitter(self.by_layer, kept, workspace.nbytes, device).whole()
            return replace(fullest, total=whole.fullest, fits=whole.fullest <= device.nbytes)
        # Without parallelism several devices hold the sum together.
        held = device.total if self.wish.parallel.alone else device.nbytes
        return replace(fullest, fits=fullest.total <= held)

    def cache_by_layer(self, context: int, batch: int) -> list[int]:
        """Bytes that each layer keeps; equal ones are computed once."""
        sizes: dict[KeptLayer, int] = {}
        layers = [layer for stage in self.stages for layer in stage.layers]
        for layer in layers:
            if layer not in sizes:
                one = _StageLayers(range(1), (layer,), None)
                sizes[layer] = self._cache(one, context, batch).nbytes
        return [sizes[layer] for layer in layers]

    def _cache(self, stage: _StageLayers, context: int, batch: int) -> CacheSize:
        held = replace(self.held, tokens=context, batch=batch)
        return cache_size(stage.layers, self.wish.engine, held, assumed=self.assumed)

    def shown_stages(self, context: int, batch: int) -> tuple[Stage, ...]:
        """What each stage holds; none where there is one."""
        if len(self.stages) == 1:
            return ()
        last = len(self.stages) - 1
        return tuple(
            Stage(
                stage.part.start, stage.part.stop - 1,
                ("embedding",) * (i == 0) + ("head",) * (i == last),
                stage.weights, self._cache(stage, context, batch).nbytes,
            )
            for i, stage in enumerate(self.stages)
        )  # fmt: skip


# ---- what fits


def _largest(fits: Callable[[int], bool | None], most: int) -> int:
    """The largest number for which it fits, 0 for none: sizes only grow."""
    low, high = 0, 1
    while high <= most and fits(high):
        low, high = high, high * 2
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
