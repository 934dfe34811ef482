"""The whole sum: weights, cache and workspace, on which device it fits and up to which context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

from ..core.cache_size import ENCODES, SEVERAL
from ..core.expectation import ASSUMED, NO_SIZES
from ..core.fitting import NamedDevice
from ..core.footprint import AtContext, Memory, WeightBytes
from ..core.offload_plan import Offload
from ..core.precision import precision
from ..core.results import Inspection
from ..core.text import byte_size
from ..core.training_bytes import Training
from ..errors import UsageError
from ..trees.prediction import Prediction
from .cache_request import CachedLayer, CacheRequest
from .deciding import decided, usual_card
from .devices import smallest_card, sold_hint
from .engine_classes import runs
from .engines.interface import Engine
from .flat_widths import BITS, at_bits
from .flops import count_flops
from .gguf_layers import (
    gguf_layers,
    layers_held,
    tree_of_file,
)
from .kv_cache import cache_size, decoder_blocks, kept_layers, unknown_layouts
from .largest import largest
from .memory_request import MAX_BATCH, MAX_CONTEXT, MemoryRequest
from .offload import Parts, plan_offload
from .own_cache import (
    USUAL_CONTEXTS,
    no_cache,
)
from .parallel import (
    assumed_split,
    parallel_notes,
    split_notes,
    stage_weights,
)
from .reading import count_reading
from .sizer import Sizer, sizer


def plan(found: Inspection, prediction: Prediction | None, wish: MemoryRequest) -> Memory:
    """Everything that is known; a cache that is not is refused by its reason, not guessed.

    ``prediction`` counts only where it is the catalog's: what transformers builds has no tree that
    says what is kept.
    """
    if prediction is not None and prediction.family is None:
        prediction = None
    if wish.width is not None:
        from .recipes.at_recipe import at_recipe

        found = at_recipe(found, prediction, wish.width)
    weights = with_adapter(weights_of(found), wish)
    named, wish = wish, shared_by(wish, found, prediction)
    training, training_unknown = _training(found, prediction, weights, wish)
    memory = partial(
        Memory,
        target=found.target,
        origin=found.origin,
        architecture=found.architecture,
        model_type=found.model_type,
        engine=wish.engine.name,
        version=wish.engine.version,
        batch=wish.batch,
        tensor_parallel=wish.parallel.tensor,
        pipeline_parallel=wish.parallel.pipeline,
        expert_parallel=wish.parallel.expert,
        own_context=found.facts.context,
        device=None
        if wish.device is None
        else NamedDevice(wish.device.name, wish.device.nbytes, wish.device.count),
        training=training,
        training_unknown=training_unknown,
        precision=wish.width or precision(found),
        media=wish.media,
    )
    layers, reason = _layers(found, prediction, wish)
    if prediction is None and not reason:
        prediction = tree_of_file(found)
    if reason or prediction is None:
        sized = memory(
            weights=_weights_alone(weights, found, wish),
            cache_unknown=reason,
            notes=_once_held(found, prediction, wish) if reason == ENCODES else (),
        )
    else:
        sized = _with_cache(memory, found, prediction, layers, weights, wish)
    split = split_notes(named.parallel, wish.parallel, wish.device)
    return _judged(replace(sized, notes=(*split, *sized.notes)), found, prediction, wish)


def _judged(
    memory: Memory, found: Inspection, prediction: Prediction | None, wish: MemoryRequest
) -> Memory:
    """With the verdict, where a device was named, and the smallest card, where limits give it.
    ``found`` has its own weights."""

    @cache
    def at_width(width: str) -> int | None:
        flat = at_bits(found, BITS[width])
        if flat is None:
            return None
        # Who writes no dtype computes in that of the weights: so are cache and activations.
        wide = width == "float32" and wish.dtype is None and wish.engine.default_cache_dtype is None
        dtype = "F32" if wide else wish.dtype
        sized = plan(flat, prediction, replace(wish, width=None, dtype=dtype, device=None))
        if sized.total is None or sized.workspace is None:
            return None
        return sized.total + (sized.workspace.activation if width == "float32" else 0)

    card = memory.smallest_card
    no_sum = memory.main is None or memory.weights.nbytes is None
    if no_sum and wish.train is None:
        card = usual_card(memory, found, wish, at_width)
    verdict = decided(memory, found, wish, at_width)
    return replace(memory, verdict=verdict, smallest_card=card)


def shared_by(
    wish: MemoryRequest, found: Inspection, prediction: Prediction | None
) -> MemoryRequest:
    """The wish with the split that is assumed where several devices are named and no split."""
    device = wish.device
    if device is None or device.count == 1 or not wish.parallel.alone or prediction is None:
        return wish
    if wish.engine.places_layers or wish.train is not None:
        return wish  # it deals them out itself; training divides by gpus and zero
    reason = no_cache(prediction, found.config, is_gguf=found.format == "gguf")
    if found.members or reason:
        return wish
    family = prediction.family
    is_stack = family is None or family.category != "encoder-decoder"
    layers = len(decoder_blocks(prediction.root)) if is_stack else 0
    split = assumed_split(device.count, wish.engine, found.facts.heads, layers)
    return replace(wish, parallel=split, engine=wish.engine.in_stages(split.pipeline))


def _layers(
    found: Inspection, prediction: Prediction | None, wish: MemoryRequest
) -> tuple[tuple[CachedLayer, ...], str]:
    """What each layer keeps, or why that is not known."""
    engine = wish.engine
    if found.members or _no_sizes(found):
        return (), _no_sizes(found) or SEVERAL
    if found.format == "gguf":
        read = gguf_layers(found.metadata, found.tensors)
        if isinstance(read, str):
            return (), read
        if engine.reads_key_values:
            return read, ""
        if prediction is None:
            return (), f"what {engine.name} does with this GGUF file is unknown"
        return read, refused(prediction, read, engine)
    reason = no_cache(prediction, found.config)
    if reason or prediction is None:
        return (), reason
    layers = layers_held(found, prediction.root, engine, images=wish.crosses)
    return layers, refused(prediction, layers, engine)


def _once_held(
    found: Inspection, prediction: Prediction | None, wish: MemoryRequest
) -> tuple[str, ...]:
    """What the engine remarks on encoders."""
    if prediction is None:
        return ()
    layers = kept_layers(prediction.root)
    if unknown_layouts(layers, wish.engine):
        return ()
    tokens = wish.context or found.facts.context or USUAL_CONTEXTS[0]

    def made() -> tuple[int, int]:
        dtype = wish.dtype or wish.engine.default_cache_dtype or "F16"
        held = CacheRequest(tokens=tokens, batch=wish.batch, dtype=dtype)
        return cache_size(layers, wish.engine, held).nbytes, tokens

    return wish.engine.encoder_notes(made)


def refused(prediction: Prediction, layers: Sequence[CachedLayer], engine: Engine) -> str:
    """Why no cache is sized under an engine; empty where it is."""
    cannot = engine.refused_type(prediction.model_type)
    cannot = cannot or runs(engine, prediction.architecture, layers).refused
    return cannot or "; ".join(unknown_layouts(layers, engine))


def _with_cache(
    memory: Callable[..., Memory],
    found: Inspection,
    prediction: Prediction,
    layers: Sequence[CachedLayer],
    weights: WeightBytes,
    wish: MemoryRequest,
) -> Memory:
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
        notes += _offload_notes(sized.by_layer, found, wish.engine)
    flops = count_flops(prediction, layers, main.context, batch)
    counted = None if isinstance(flops, str) else flops
    held = replace(sized.held, tokens=main.context, batch=batch)
    known = main.total is not None
    if known and own and main.context > own:
        notes.append(f"{main.context:,} tokens are more than the {own:,} that the config allows")
    limited = known and wish.device is not None
    return memory(
        media=tuple(sized.with_cache(one) for one in wish.media),
        notes=tuple(notes),
        offload=offload,
        offload_unknown=offload_unknown,
        flops=counted,
        flops_unknown=flops if isinstance(flops, str) else "",
        reading=count_reading(found, layers, held, counted, wish.bandwidth, wish.parallel.devices),
        smallest_card=None if main.total is None else smallest_card(partial(sized.holds, main)),
        stages=sized.shown_stages(main.context, batch) if known else (),
        **(_longest(sized, own, main) if limited else {}),
        max_batch=largest(lambda n: sized.at(main.context, n).fits, MAX_BATCH) if limited else None,
    )


def _longest(sized: Sizer, own: int | None, main: AtContext) -> dict[str, Any]:
    """The longest context that fits, up to the model's own or to the one that was named, and
    whether the device holds more; without such an end None where any length fits."""
    end = max(own, main.context) if own else MAX_CONTEXT
    batch = sized.wish.batch
    longest = largest(lambda n: sized.at(n, batch).fits, end)
    more = longest == end and (not own or bool(sized.at(end + 1, batch).fits))
    return {"max_context": longest if own or not more else None, "holds_more": more}


def _offload(sized: Sizer, parts: Parts, main: AtContext) -> Offload:
    cache = sized.cache_by_layer(main.context, sized.wish.batch)
    return plan_offload(parts, cache, main.context, main.workspace.nbytes, sized.wish.device)


def _offload_notes(parts: Parts, found: Inspection, engine: Engine) -> list[str]:
    notes = []
    if found.format != "gguf":
        notes.append(f"{engine.name} reads GGUF: these are the bytes before conversion")
    if parts.apart:
        notes.append("the parts for images and sound are a file of their own (--mmproj)")
    return notes


def _weights_alone(weights: WeightBytes, found: Inspection, wish: MemoryRequest) -> WeightBytes:
    """Weights on one device where the cache is not known."""
    if wish.parallel.pipeline > 1:
        raise UsageError(
            f"pipeline_parallel {wish.parallel.pipeline}",
            "needs a decoder whose layers are known",
            hint="leave it out",
        )
    if wish.parallel.alone or weights.nbytes is None:
        return weights
    (held,) = stage_weights(found, None, wish.parallel, [range(0)])
    more = 0 if wish.adapter is None else wish.adapter.nbytes
    return replace(weights, per_device=held + more)


def _notes(found: Inspection, layers: Sequence[CachedLayer], wish: MemoryRequest) -> list[str]:
    notes = [finding.text for finding in found.findings if finding.rule == ASSUMED]
    notes += wish.remarks
    notes += parallel_notes(wish.parallel, wish.engine, found)
    if wish.device is not None and wish.device.whole not in (None, wish.device.nbytes):
        notes.append(
            f"{wish.engine.name} uses {byte_size(wish.device.nbytes)} of each device's "
            f"{byte_size(wish.device.whole or 0)}"
        )
    if wish.adapter is not None:
        notes.append(
            f"with {wish.adapter.what} {wish.adapter.name}: {byte_size(wish.adapter.nbytes)}"
        )
    if wish.width is not None:
        notes.append(f"weights are sized at {wish.width}, not as stored")
    hint = "" if wish.device is None else sold_hint(wish.device)
    if hint:
        notes.append(hint)
    if not any(layer.cache for layer in layers):
        notes.append("it keeps no state between tokens")
    return notes


def _training(
    found: Inspection, prediction: Prediction | None, weights: WeightBytes, wish: MemoryRequest
) -> tuple[Training | None, str]:
    """What a step of training holds, or why that is not known; neither where none is wished."""
    if wish.train is None:
        return None, ""
    if found.members or _no_sizes(found):
        return None, _no_sizes(found) or SEVERAL
    from .training import size_training  # most questions are not about training

    sized = size_training(found, prediction, weights, wish.train)
    return (None, sized) if isinstance(sized, str) else (sized, "")


def _no_sizes(found: Inspection) -> str:
    """Why nothing says how large the model is; empty where something does."""
    return next((f.text for f in found.findings if f.rule == NO_SIZES), "")


def _contexts(own: int | None, named: int | None) -> tuple[int, ...]:
    if named is not None:
        return (named,)
    usual = [tokens for tokens in USUAL_CONTEXTS if own is None or tokens < own]
    return (*usual, own) if own else tuple(usual)


# ---- weights

#: What a finding says of the whole after it has said which part is not known.
_WHOLE: Final = ": parameters and bytes of the whole"


def weights_of(found: Inspection) -> WeightBytes:
    beyond = [group.nbytes for group in found.beyond]
    more = sum(size for size in beyond if size is not None)
    nbytes = None if found.nbytes is None else found.nbytes - more
    unknown = ""
    if nbytes is None:
        reasons = [f.text.partition(_WHOLE)[0] for f in found.findings if "bytes" in f.text]
        no_dtype = found.source == "config" and "unknown" in found.dtypes
        usual = "its config names no dtype" if no_dtype else "the size of some tensors is unknown"
        unknown = _no_sizes(found) or (reasons[0] if reasons else usual)
    return WeightBytes(
        nbytes=nbytes,
        source=found.source,
        parameters=found.parameters,
        per_device=nbytes,
        widths=found.memory,
        unknown=unknown,
    )


def with_adapter(weights: WeightBytes, wish: MemoryRequest) -> WeightBytes:
    """With an adapter's own bytes."""
    adapter = wish.adapter
    if adapter is None:
        return weights
    nbytes = None if weights.nbytes is None else weights.nbytes + adapter.nbytes
    count = None if weights.parameters is None else weights.parameters + adapter.parameters
    widths = {name: size + adapter.nbytes for name, size in weights.widths.items()}
    return replace(weights, nbytes=nbytes, per_device=nbytes, parameters=count, widths=widths)
