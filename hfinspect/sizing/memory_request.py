"""What is to be sized: the words of a user, checked."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from ..core.media_tokens import MediaItem, MediaTokens
from ..core.memory_options import CacheOptions, InferenceOptions, MemoryOptions
from ..core.option_field import options_of
from ..core.records import dataclass
from ..errors import UsageError
from ..media.reading_items import media_items
from .devices import Device, parse_device, parse_tokens
from .engines.interface import Engine
from .engines.registry import find_engine
from .parallel import Parallel, checked_parallel
from .reading import parse_bandwidth

if TYPE_CHECKING:
    from .training import TrainRequest

#: Where the search for the longest context ends.
MAX_CONTEXT: Final = 2**31
MAX_BATCH: Final = 2**20


@dataclass(frozen=True)
class MemoryRequest:
    """What is to be sized: the choices of ``hfinspect memory``. ``items`` are images and the like
    with their number, ``media`` what they take, once the model's processor is known; ``remarks``
    are notes of files that lie next to the model."""

    engine: Engine
    context: int | None = None
    batch: int = 1
    dtype: str | None = None
    encoder_tokens: int | None = None
    device: Device | None = None
    parallel: Parallel = field(default_factory=Parallel)
    bandwidth: int | None = None
    width: str | None = None
    train: TrainRequest | None = None
    adapter: AdapterBytes | None = None
    items: tuple[tuple[MediaItem, int], ...] = ()
    media: tuple[MediaTokens, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def crosses(self) -> bool:
        """Whether cross-attention keeps some of the ``media``."""
        return any(one.cross_tokens for one in self.media)


@dataclass(frozen=True)
class AdapterBytes:
    """An adapter that is loaded next to its base model, or the mmproj file next to a GGUF, whole on
    each device. ``what`` it is stands in a note."""

    name: str
    nbytes: int
    parameters: int
    what: str = "the adapter"


def cache_request(options: CacheOptions) -> MemoryRequest:
    """What a user wrote about a cache, checked. Raises UsageError."""
    values = {name: getattr(options, name) for name in options_of(CacheOptions)}
    return inference_request(InferenceOptions(**values))


def inference_request(options: InferenceOptions) -> MemoryRequest:
    """What a user wrote about inference, checked. Raises UsageError."""
    batch = options.batch
    positions = options.encoder_tokens
    if isinstance(batch, bool) or not 1 <= batch <= MAX_BATCH:
        raise UsageError(f"batch {batch!r}", "is not possible", expected=f"1 to {MAX_BATCH:,}")
    if positions is not None and not 0 <= positions <= MAX_CONTEXT:
        raise UsageError(f"encoder tokens {positions!r}", "are not possible", expected="0 up")
    rules = find_engine(options.engine, options.step_tokens).with_settings(
        slots=options.slots,
        split_cache=options.split_cache,
        swa_full=options.swa_full,
        flash_attention=options.flash_attention,
    )
    if options.slots is not None and batch > options.slots:
        raise UsageError(f"batch {batch}", f"is more than the {options.slots} slots")
    rules = rules.in_stages(options.pipeline_parallel)
    device = None if options.on is None else parse_device(options.on)
    parallel = checked_parallel(
        options.tensor_parallel, options.pipeline_parallel, options.expert_parallel, rules
    )
    if device is not None:
        if 1 < device.count < parallel.devices:
            raise UsageError(
                f"{parallel.devices} devices",
                f"share the model, and device {options.on!r} names {device.count}",
                hint=f"name {parallel.devices}x or one",
            )
        rules = rules.on_device(device.nbytes, device.name)
        device = replace(device, nbytes=rules.usable(device.nbytes), capacity=device.nbytes)
    dtype = options.cache_dtype
    return MemoryRequest(
        engine=rules,
        context=None if options.context is None else parse_tokens(options.context),
        batch=batch,
        dtype=None if dtype is None else rules.cache_dtype(dtype),
        encoder_tokens=positions,
        device=device,
        parallel=parallel,
        bandwidth=_bandwidth(options.bandwidth, device),
        width=None if options.width is None else _checked_width(options.width),
        items=media_items(options.image, options.images, options.video, options.audio),
    )


def _bandwidth(text: str | None, device: Device | None) -> int | None:
    """What was named, or else that of a card whose name is known."""
    if text is not None:
        return parse_bandwidth(text)
    return None if device is None else device.bandwidth


def _checked_width(width: str) -> str:
    from .recipes.recipe_names import find_recipe

    return find_recipe(width).name


def memory_request(options: MemoryOptions) -> MemoryRequest:
    """What a user wrote about inference, and about training where ``train`` names a way, checked.
    Raises UsageError."""
    request = inference_request(options)
    if options.train is None:
        return request
    from .training import training_request

    if request.width is not None:
        raise UsageError("width", "applies to inference; training uses precision")
    if not request.parallel.alone:
        hint = "training divides by gpus and zero"
        raise UsageError("train", "cannot be combined with parallel inference", hint=hint)
    return replace(request, train=training_request(options.train, options))
