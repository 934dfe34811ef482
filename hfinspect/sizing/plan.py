"""The whole sum: weights, cache and workspace, on which device it fits and up to which context."""

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
from .deciding import as_it_is, decided, usual_card
from .devices import smallest_card, sold_hint
from .engine_classes import runs
from .engines.interface import Engine
from .flat_widths import BITS, at_bits
from .flops import count_flops
from .gguf_layers import engine_layers, gguf_layers, tree_of_file
from .kv_cache import cache_size, cached_layers, decoder_blocks, unknown_layouts
from .largest import largest
from .memory_request import MAX_BATCH, MAX_CONTEXT, MemoryRequest
from .offload import Parts, plan_offload
from .own_cache import USUAL_CONTEXTS, no_cache
from .parallel import assumed_split, parallel_notes, split_notes, stage_weights
from .reading import count_reading
from .sizer import ContextSum, Sizer, sizer


def plan(inspection: Inspection, prediction: Prediction | None, request: MemoryRequest) -> Memory:
    """Everything that is known; a cache that is not is refused by its reason, not guessed.

    ``prediction`` counts only where it is the catalog's: what transformers builds has no tree that
    says what is kept.
    """
    if prediction is not None and prediction.family is None:
        prediction = None
    if request.width is not None:
        from .recipes.at_recipe import at_recipe

        inspection = at_recipe(inspection, prediction, request.width)
    weights = with_adapter(weights_of(inspection), request)
    unsplit = request
    request = shared_by(request, inspection, prediction)
    training, training_unknown = _training(inspection, prediction, weights, request)
    memory = partial(
        Memory,
        target=inspection.target,
        origin=inspection.origin,
        whole=inspection.whole,
        problems=inspection.problems,
        sized_by="config" if inspection.source == "config" else inspection.sized_by,
        architecture=inspection.architecture,
        model_type=inspection.model_type,
        engine=request.engine.name,
        version=request.engine.version,
        batch=request.batch,
        tensor_parallel=request.parallel.tensor,
        pipeline_parallel=request.parallel.pipeline,
        expert_parallel=request.parallel.expert,
        own_context=inspection.facts.context,
        device=None
        if request.device is None
        else NamedDevice(request.device.name, request.device.nbytes, request.device.count),
        training=training,
        training_unknown=training_unknown,
        precision=request.width or precision(inspection),
        media=request.media,
    )
    layers, reason = _layers(inspection, prediction, request)
    if prediction is None and not reason:
        prediction = tree_of_file(inspection)
    if reason or prediction is None:
        sized = memory(
            weights=_weights_alone(weights, inspection, request),
            cache_unknown=reason,
            notes=_encoder_remarks(inspection, prediction, request) if reason == ENCODES else (),
        )
    else:
        sized = _with_cache(memory, inspection, prediction, layers, weights, request)
    split = split_notes(unsplit.parallel, request.parallel, request.device)
    return _judged(replace(sized, notes=(*split, *sized.notes)), inspection, prediction, request)


def _judged(
    memory: Memory, inspection: Inspection, prediction: Prediction | None, request: MemoryRequest
) -> Memory:
    """With the verdict, where a device was named, and the smallest card, where limits give it.
    ``inspection`` has its own weights."""

    @cache
    def at_width(width: str) -> int | None:
        flat = at_bits(inspection, BITS[width])
        if flat is None:
            return None
        # Who writes no dtype computes in that of the weights: so are cache and activations.
        wide = (
            width == "float32"
            and request.dtype is None
            and request.engine.default_cache_dtype is None
        )
        dtype = "F32" if wide else request.dtype
        sums = _sums(flat, prediction, replace(request, width=None, dtype=dtype, device=None))
        if sums is None or sums.total is None or sums.workspace is None:
            return None
        return sums.total + (sums.workspace.activation if width == "float32" else 0)

    card = memory.smallest_card
    no_sum = memory.main is None or memory.weights.nbytes is None
    if no_sum and request.train is None:
        card = usual_card(memory, inspection, request, at_width)
    verdict = decided(memory, inspection, request, at_width)
    if inspection.whole is False:  # whatever the sum: it does not load as it is
        verdict = as_it_is(verdict)
        memory = replace(memory, at=tuple(map(_not_loading, memory.at)))
    return replace(memory, verdict=verdict, smallest_card=card)


def _not_loading(at: AtContext) -> AtContext:
    """The sum of the whole model, which the files are not: it fits by no more than its size."""
    return replace(at, fits=None) if at.fits else at


def _sums(
    inspection: Inspection, prediction: Prediction | None, request: MemoryRequest
) -> ContextSum | None:
    """The main sum of ``plan`` alone; None where the cache is not known."""
    layers, reason = _layers(inspection, prediction, request)
    contexts = _contexts(inspection.facts.context, request.context)
    if reason or not contexts:
        return None
    weights = with_adapter(weights_of(inspection), request)
    prediction = prediction or tree_of_file(inspection)
    return sizer(inspection, prediction, layers, weights, request).sums(contexts[-1], request.batch)


def shared_by(
    request: MemoryRequest, inspection: Inspection, prediction: Prediction | None
) -> MemoryRequest:
    """The request with the split that is assumed where several devices are named and no split."""
    device = request.device
    if device is None or device.count == 1 or not request.parallel.alone or prediction is None:
        return request
    if request.engine.places_layers or request.train is not None:
        return request  # it deals them out itself; training divides by gpus and zero
    reason = no_cache(prediction, inspection.config, is_gguf=inspection.format == "gguf")
    if inspection.members or reason:
        return request
    family = prediction.family
    is_stack = family is None or family.category != "encoder-decoder"
    layers = len(decoder_blocks(prediction.root)) if is_stack else 0
    split = assumed_split(device.count, request.engine, inspection.facts.heads, layers)
    return replace(request, parallel=split, engine=request.engine.in_stages(split.pipeline))


def _layers(
    inspection: Inspection, prediction: Prediction | None, request: MemoryRequest
) -> tuple[tuple[CachedLayer, ...], str]:
    """What each layer keeps, or why that is not known."""
    engine = request.engine
    if inspection.members or _no_sizes(inspection):
        return (), _no_sizes(inspection) or SEVERAL
    if inspection.format == "gguf":
        read = gguf_layers(inspection.metadata, inspection.tensors)
        if isinstance(read, str):
            return (), read
        if engine.reads_key_values:
            return read, ""
        if prediction is None:
            return (), f"what {engine.name} does with this GGUF file is unknown"
        return read, refused(prediction, read, engine)
    reason = no_cache(prediction, inspection.config)
    if reason or prediction is None:
        return (), reason
    layers = engine_layers(inspection, prediction.root, engine, images=request.crosses)
    return layers, refused(prediction, layers, engine)


def _encoder_remarks(
    inspection: Inspection, prediction: Prediction | None, request: MemoryRequest
) -> tuple[str, ...]:
    """What the engine remarks on encoders."""
    if prediction is None:
        return ()
    layers = cached_layers(prediction.root)
    if unknown_layouts(layers, request.engine):
        return ()
    tokens = request.context or inspection.facts.context or USUAL_CONTEXTS[0]

    def encoder_cache() -> tuple[int, int]:
        dtype = request.dtype or request.engine.default_cache_dtype or "F16"
        cache_request = CacheRequest(tokens=tokens, batch=request.batch, dtype=dtype)
        return cache_size(layers, request.engine, cache_request).nbytes, tokens

    return request.engine.encoder_notes(encoder_cache)


def refused(prediction: Prediction, layers: Sequence[CachedLayer], engine: Engine) -> str:
    """Why no cache is sized under an engine; empty where it is."""
    cannot = engine.refused_type(prediction.model_type)
    cannot = cannot or runs(engine, prediction.architecture, layers).refused
    return cannot or "; ".join(unknown_layouts(layers, engine))


def _with_cache(
    memory: Callable[..., Memory],
    inspection: Inspection,
    prediction: Prediction,
    layers: Sequence[CachedLayer],
    weights: WeightBytes,
    request: MemoryRequest,
) -> Memory:
    """The sum at each context, and what follows from the last of them, the main one."""
    sized = sizer(inspection, prediction, layers, weights, request)
    limit = inspection.facts.context
    batch = request.batch
    at = tuple(sized.at(context, batch) for context in _contexts(limit, request.context))
    memory = partial(memory, weights=replace(weights, per_device=sized.fullest_weights), at=at)
    notes = _notes(inspection, layers, request)
    note = runs(request.engine, prediction.architecture, layers).note
    notes += [note] if note else []
    if not at:
        return memory(notes=tuple(notes))
    main = at[-1]
    offload = None
    offload_unknown = ""
    if isinstance(sized.by_layer, str):
        offload_unknown = sized.by_layer
    elif sized.by_layer is not None:
        offload = _offload(sized, sized.by_layer, main)
        notes += _offload_notes(sized.by_layer, inspection, request.engine)
    flops = count_flops(prediction, layers, main.context, batch)
    counted = None if isinstance(flops, str) else flops
    cache_request = replace(sized.cache_request, tokens=main.context, batch=batch)
    known = main.total is not None
    if known and limit and main.context > limit:
        notes.append(f"{main.context:,} tokens are more than the {limit:,} that the config allows")
    limited = known and request.device is not None
    return memory(
        workspace_unknown="" if main.workspace else _without_rule(inspection, request.engine),
        media=tuple(sized.with_cache(one) for one in request.media),
        notes=tuple(notes),
        offload=offload,
        offload_unknown=offload_unknown,
        flops=counted,
        flops_unknown=flops if isinstance(flops, str) else "",
        reading=count_reading(
            inspection, layers, cache_request, counted, request.bandwidth, request.parallel.devices
        ),
        smallest_card=None if main.total is None else smallest_card(partial(sized.holds, main)),
        stages=sized.shown_stages(main.context, batch) if known else (),
        **(_longest(sized, limit, main) if limited else {}),
        max_batch=largest(lambda n: sized.sums(main.context, n).fits, MAX_BATCH)
        if limited
        else None,
    )


def _without_rule(inspection: Inspection, engine: Engine) -> str:
    where = f" in {engine.name} {engine.version}" if engine.version else ""
    return (
        f"no rule says what a pass of {inspection.model_type} takes{where}: its code was not "
        "compared with one, or keeps more"
    )


def _longest(sized: Sizer, limit: int | None, main: AtContext) -> dict[str, Any]:
    """The longest context that fits, up to the model's own or to the one that was named, and
    whether the device holds more; without such an end None where any length fits."""
    end = max(limit, main.context) if limit else MAX_CONTEXT
    batch = sized.request.batch
    longest = largest(lambda n: sized.sums(n, batch).fits, end)
    more = longest == end and (not limit or bool(sized.sums(end + 1, batch).fits))
    return {"max_context": longest if limit or not more else None, "holds_more": more}


def _offload(sized: Sizer, parts: Parts, main: AtContext) -> Offload:
    cache = sized.cache_by_layer(main.context, sized.request.batch)
    step = 0 if main.workspace is None else main.workspace.nbytes
    return plan_offload(parts, cache, main.context, step, sized.request.device)


def _offload_notes(parts: Parts, inspection: Inspection, engine: Engine) -> list[str]:
    notes = []
    if inspection.format != "gguf":
        notes.append(f"{engine.name} reads GGUF: these are the bytes before conversion")
    if parts.apart:
        notes.append("the parts for images and sound are a file of their own (--mmproj)")
    return notes


def _weights_alone(
    weights: WeightBytes, inspection: Inspection, request: MemoryRequest
) -> WeightBytes:
    """Weights on one device where the cache is not known."""
    if request.parallel.pipeline > 1:
        raise UsageError(
            f"pipeline_parallel {request.parallel.pipeline}",
            "needs a decoder whose layers are known",
            hint="leave it out",
        )
    if request.parallel.alone or weights.nbytes is None:
        return weights
    (on_each,) = stage_weights(inspection, None, request.parallel, [range(0)])
    more = 0 if request.adapter is None else request.adapter.nbytes
    return replace(weights, per_device=on_each + more)


def _notes(
    inspection: Inspection, layers: Sequence[CachedLayer], request: MemoryRequest
) -> list[str]:
    notes = [finding.text for finding in inspection.findings if finding.rule == ASSUMED]
    notes += request.remarks
    notes += parallel_notes(request.parallel, request.engine, inspection)
    if request.device is not None and request.device.capacity not in (None, request.device.nbytes):
        notes.append(
            f"{request.engine.name} uses {byte_size(request.device.nbytes)} of each device's "
            f"{byte_size(request.device.capacity or 0)}"
        )
    if request.adapter is not None:
        adapter = request.adapter
        notes.append(f"with {adapter.what} {adapter.name}: {byte_size(adapter.nbytes)}")
    if request.width is not None:
        notes.append(f"weights are sized at {request.width}, not as stored")
    hint = "" if request.device is None else sold_hint(request.device)
    if hint:
        notes.append(hint)
    if not any(layer.cache for layer in layers):
        notes.append("it keeps no state between tokens")
    return notes


def _training(
    inspection: Inspection,
    prediction: Prediction | None,
    weights: WeightBytes,
    request: MemoryRequest,
) -> tuple[Training | None, str]:
    """What a step of training holds, or why that is not known; neither where none is requested."""
    if request.train is None:
        return None, ""
    if inspection.members or _no_sizes(inspection):
        return None, _no_sizes(inspection) or SEVERAL
    from .training import size_training  # most questions are not about training

    sized = size_training(inspection, prediction, weights, request.train)
    return (None, sized) if isinstance(sized, str) else (sized, "")


def _no_sizes(inspection: Inspection) -> str:
    """Why nothing says how large the model is; empty where something does."""
    return next((f.text for f in inspection.findings if f.rule == NO_SIZES), "")


def _contexts(limit: int | None, requested: int | None) -> tuple[int, ...]:
    if requested is not None:
        return (requested,)
    usual = [tokens for tokens in USUAL_CONTEXTS if limit is None or tokens < limit]
    return (*usual, limit) if limit else tuple(usual)


# ---- weights

#: What a finding says of the whole after it has said which part is not known.
_WHOLE: Final = ": parameters and bytes of the whole"


def weights_of(inspection: Inspection) -> WeightBytes:
    more = sum(group.nbytes or 0 for group in inspection.extra_tensors)
    nbytes = None if inspection.nbytes is None else inspection.nbytes - more
    unknown = ""
    if nbytes is None:
        reasons = [f.text.partition(_WHOLE)[0] for f in inspection.findings if "bytes" in f.text]
        no_dtype = inspection.source == "config" and "unknown" in inspection.dtypes
        usual = "its config names no dtype" if no_dtype else "the size of some tensors is unknown"
        unknown = _no_sizes(inspection) or (reasons[0] if reasons else usual)
    return WeightBytes(
        nbytes=nbytes,
        source=inspection.source,
        parameters=inspection.parameters,
        per_device=nbytes,
        widths=inspection.memory,
        unknown=unknown,
    )


def with_adapter(weights: WeightBytes, request: MemoryRequest) -> WeightBytes:
    """With an adapter's own bytes."""
    adapter = request.adapter
    if adapter is None:
        return weights
    nbytes = None if weights.nbytes is None else weights.nbytes + adapter.nbytes
    count = None if weights.parameters is None else weights.parameters + adapter.parameters
    widths = {name: size + adapter.nbytes for name, size in weights.widths.items()}
    return replace(weights, nbytes=nbytes, per_device=nbytes, parameters=count, widths=widths)
