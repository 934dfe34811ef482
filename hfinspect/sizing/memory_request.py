"""What is to be sized: the words of a user, checked."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final

from ..core.records import dataclass
from ..errors import UsageError
from .devices import Device, parse_device, parse_tokens
from .engines.interface import Engine
from .engines.registry import find_engine
from .parallel import Parallel, parallel_wished
from .reading import parse_bandwidth

if TYPE_CHECKING:
    from .training import TrainWish

#: Where the search for the longest context ends.
MAX_CONTEXT: Final = 2**31
MAX_BATCH: Final = 2**20


@dataclass(frozen=True)
class MemoryRequest:
    """What is to be sized: the choices of ``hfinspect memory``."""

    engine: Engine
    context: int | None = None
    batch: int = 1
    dtype: str | None = None
    encoder_tokens: int | None = None
    device: Device | None = None
    parallel: Parallel = field(default_factory=Parallel)
    bandwidth: int | None = None
    width: str | None = None
    train: TrainWish | None = None
    adapter: AdapterBytes | None = None


@dataclass(frozen=True)
class AdapterBytes:
    """An adapter that is loaded next to its base model, whole on each device."""

    name: str
    nbytes: int
    parameters: int


def checked_request(
    *,
    engine: str,
    context: int | str | None,
    batch: int,
    cache_dtype: str | None,
    encoder_tokens: int | None,
    on: str | None,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
    expert_parallel: int = 1,
    bandwidth: str | None = None,
    step_tokens: int | None = None,
    width: str | None = None,
    slots: int | None = None,
    split_cache: bool = False,
    swa_full: bool = False,
    flash_attention: bool = True,
) -> MemoryRequest:
    """What a user wrote, checked. Raises UsageError."""
    if isinstance(batch, bool) or not 1 <= batch <= MAX_BATCH:
        raise UsageError(f"batch {batch!r}", "is not possible", expected=f"1 to {MAX_BATCH:,}")
    if encoder_tokens is not None and not 0 <= encoder_tokens <= MAX_CONTEXT:
        raise UsageError(f"encoder tokens {encoder_tokens!r}", "are not possible", expected="0 up")
    rules = find_engine(engine, step_tokens).with_settings(
        slots=slots, split_cache=split_cache, swa_full=swa_full, flash_attention=flash_attention
    )
    if slots is not None and batch > slots:
        raise UsageError(f"batch {batch}", f"is more than the {slots} slots")
    rules = rules.in_stages(pipeline_parallel)
    device = None if on is None else parse_device(on)
    parallel = parallel_wished(tensor_parallel, pipeline_parallel, expert_parallel, rules)
    if device is not None:
        if 1 < device.count < parallel.devices:
            raise UsageError(
                f"{parallel.devices} devices",
                f"share the model, and device {on!r} names {device.count}",
                hint=f"name {parallel.devices}x or one",
            )
        rules = rules.on_device(device.nbytes, device.name)
        device = replace(device, nbytes=rules.usable(device.nbytes), whole=device.nbytes)
    return MemoryRequest(
        engine=rules,
        context=None if context is None else parse_tokens(context),
        batch=batch,
        dtype=None if cache_dtype is None else rules.cache_dtype(cache_dtype),
        encoder_tokens=encoder_tokens,
        device=device,
        parallel=parallel,
        bandwidth=_bandwidth(bandwidth, device),
        width=None if width is None else _checked_width(width),
    )


def _bandwidth(named: str | None, device: Device | None) -> int | None:
    """What was named, or else that of a card whose name is known."""
    if named is not None:
        return parse_bandwidth(named)
    return None if device is None else device.bandwidth


def _checked_width(width: str) -> str:
    from .recipes.recipe_names import find_recipe

    return find_recipe(width).name


def memory_request(*, train: str | None, **wishes: Any) -> MemoryRequest:
    """``checked_request``, and where ``train`` names a way of training also that of
    ``train_wished``, of which ``batch`` is that of the request. Raises UsageError."""
    training = {
        name: wishes.pop(name)
        for name in (
            "rank",
            "targets",
            "seq",
            "optimizer",
            "precision",
            "gpus",
            "zero",
            "checkpointing",
            "attention",
            "modules_to_save",
        )
    }
    wish = checked_request(**wishes)
    if train is None:
        return wish
    from .training import train_wished

    if wish.width is not None:
        raise UsageError("width", "applies to inference; training uses precision")
    if not wish.parallel.alone:
        hint = "training divides by gpus and zero"
        raise UsageError("train", "cannot be combined with parallel inference", hint=hint)
    return replace(
        wish,
        train=train_wished(
            train,
            batch=wishes["batch"],
            encoder_tokens=wishes["encoder_tokens"],
            **training,
        ),
    )
