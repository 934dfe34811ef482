"""The verdict on a planned model: which sums and limits are compared with the device."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Final

from ..core.cache_size import AT_ONCE, ENCODES, NO_CONFIG, NO_KEY_VALUES, SEVERAL, UNCATALOGUED
from ..core.fitting import DEPENDS, DOES_NOT_FIT, Verdict
from ..core.footprint import Memory
from ..core.results import Inspection
from ..core.text import byte_size
from ..core.training_bytes import Training
from .bounds import Case, decide
from .cards import cards
from .devices import smallest_card
from .memory_request import MemoryRequest
from .one_pass import cache_limit, pass_limit
from .workspace import RUNTIME_BYTES

#: Widths that weights of an unknown dtype may have, the narrowest first: as verdicts spell them,
#: as ``--width`` does, and the next one, which holds scales and matrices that stay wider.
_WIDTHS: Final = (
    ("4-bit", "int4", "int8"),
    ("8-bit", "int8", "16-bit"),
    ("16-bit", "16-bit", "16-bit"),
    ("float32", "float32", "float32"),
)
#: Why nothing is kept between passes: reasons after which a pass is all there is.
_PASSES: Final = frozenset({ENCODES, AT_ONCE, SEVERAL})
#: Nothing says what is kept: reasons after which keys and values of all heads are the limit. All
#: other reasons are those of an engine that does not run the model, or of a layout without a rule.
_UNKNOWN: Final = frozenset({UNCATALOGUED, NO_CONFIG, NO_KEY_VALUES})
#: What a sum at a width of ``_WIDTHS`` is on one device; None where it cannot be given.
AtWidth = Callable[[str], int | None]


def decided(
    memory: Memory, inspection: Inspection, request: MemoryRequest, at_width: AtWidth
) -> Verdict | None:
    """Whether the device holds it; None without a device. ``at_width`` gives the whole sum of a
    model whose cache is known with its weights at a width."""
    device = request.device
    if device is None:
        return None
    if request.train is not None:
        return _training(memory, inspection, request)
    cases = _cases(memory, inspection, request, at_width)
    main = memory.main
    if main is None:
        return decide(device.nbytes, cases, _why(memory, inspection, request))
    why = memory.workspace_unknown or "the size of the weights is unknown"
    return decide(device.nbytes, cases, why)


def as_it_is(verdict: Verdict | None) -> Verdict | None:
    """The verdict of a checkpoint that does not load: only that the whole does not fit is sure."""
    if verdict is None or verdict.answer == DOES_NOT_FIT:
        return verdict
    return replace(verdict, answer=DEPENDS, text=f"{DEPENDS}: it does not load as it is")


def usual_card(
    memory: Memory, inspection: Inspection, request: MemoryRequest, at_width: AtWidth
) -> str | None:
    """The smallest usual card that holds the most that it may need, where limits are all that is
    known; None where nothing limits it, and under engines whose steps differ from card to card."""
    sizes = [case.most for case in _cases(memory, inspection, request, at_width)]
    known = [size for size in sizes if size is not None]
    engine = request.engine
    if len(known) < len(sizes):
        return None
    name = smallest_card(lambda card: max(known) <= engine.usable(card.nbytes))
    same = name is not None and engine.on_device(cards()[name].nbytes, name) == engine
    return name if same else None


def _cases(
    memory: Memory, inspection: Inspection, request: MemoryRequest, at_width: AtWidth
) -> list[Case]:
    main = memory.main
    if main is None:
        return list(_passes(memory, inspection, request))
    if main.total is None:
        return list(_summed(memory, at_width))
    return [Case("", main.total, main.total)]


def _summed(memory: Memory, at_width: AtWidth) -> Iterator[Case]:
    """The cache is known, the weights are at one of these widths."""
    main = memory.main
    assert main is not None
    sums = {name: at_width(name) for name in ("int4", "int8", "16-bit", "float32")}
    if any(total is None for total in sums.values()):
        yield Case("", (main.weights or 0) + main.cache.nbytes, None)
        return
    for name, width, wider in _WIDTHS:
        yield Case(name, sums[width] or 0, sums[wider])


def _passes(memory: Memory, inspection: Inspection, request: MemoryRequest) -> Iterator[Case]:
    """No cache is known: the weights, and at most a pass and what may be kept."""
    more = more_at_most(memory, inspection, request)
    device = request.device
    cards = 1 if device is None or not request.parallel.alone else device.count
    on_device = memory.weights.per_device
    if on_device is not None:
        yield _pass("", on_device, on_device, cards, more)
    elif not memory.weights.widths:
        yield Case("", -(-_parts_at_least(inspection) // cards), None)
    else:
        widths = memory.weights.widths
        for name, width, wider in _WIDTHS:
            yield _pass(name, widths[width], widths[wider], cards, more)


def _parts_at_least(inspection: Inspection) -> int:
    """Bytes of a pipeline's parts that are known, where others are not."""
    sizes = [
        m.nbytes if m.nbytes is not None else (m.parameters or 0) // 2 for m in inspection.members
    ]
    return sum(sizes)


def _pass(name: str, least: int, most: int, cards: int, more: int | None) -> Case:
    """On several cards one has a share of the weights at least and all of them at most."""
    return Case(name, -(-least // cards), None if more is None else most + more)


def more_at_most(memory: Memory, inspection: Inspection, request: MemoryRequest) -> int | None:
    """What a pass and a cache take next to the weights at most, where no cache is known; None where
    nothing limits it."""
    if inspection.adapter is not None:
        return None  # its base is not there
    reason = memory.cache_unknown
    if reason not in _PASSES | _UNKNOWN:
        return None
    limit = pass_limit(inspection, request.context, request.batch)
    if limit is None or reason in _PASSES:
        return limit
    cache = cache_limit(inspection, request.context, request.batch)
    return None if cache is None else limit + cache


def _why(memory: Memory, inspection: Inspection, request: MemoryRequest) -> str:
    """What a verdict of one case depends on."""
    on_device = memory.weights.per_device
    if on_device is None:
        return f"the size of the weights is unknown ({memory.weights.unknown})"
    more = more_at_most(memory, inspection, request)
    if inspection.adapter is not None:
        base = inspection.adapter.base or "not named"
        return (
            f"the base model ({base}) was not read; the adapter alone needs {byte_size(on_device)}"
        )
    if more is None and memory.cache_unknown not in _PASSES | _UNKNOWN:
        return memory.cache_unknown
    if more is None:
        return f"{byte_size(on_device)} of weights fit, cache and activations are unknown"
    unknown_parts = "activations" if memory.cache_unknown in _PASSES else "cache and activations"
    return (
        f"{byte_size(on_device)} of weights fit, {unknown_parts} of up to {byte_size(more)} may not"
    )


def _training(memory: Memory, inspection: Inspection, request: MemoryRequest) -> Verdict:
    """A step of training, between ``training_limits``."""
    assert request.device is not None
    capacity = request.device.nbytes
    training = memory.training
    if training is None:
        least = _frozen_at_least(memory, request)
        return decide(capacity, [Case("", least, None)], memory.training_unknown)
    least, most = training_limits(training, inspection.facts.layers)
    return decide(capacity, [Case("", least, most)], _open(least, most))


def training_limits(training: Training, layers: int | None) -> tuple[int, int | None]:
    """Bytes that a step holds at least, and at most; None where activations or logits are not
    known.

    At least: states, and activations or the optimizer's step. At most, in addition: the logits with
    one more float32 copy (the loss shifts them; four bytes to the fourteen of ``Training.logits``),
    the gradients of the activations of two layers (those of a layer go as soon as the layer before
    it has its own; of all layers where their number is not known, or activations are computed
    again), and the runtime. Thirteen runs that were measured on a GPU lie between the two.
    """
    least = training.least
    if training.activations is None or training.logits is None:
        return least, None
    step = 0 if training.step is None else training.step.nbytes
    activations = training.activations.nbytes
    alive = Fraction(1)
    if layers and layers > 1 and not training.checkpointing:
        alive = Fraction(2, layers)
    logits = math.ceil(training.logits.nbytes * Fraction(18, 14))
    waiting = activations + math.ceil(activations * alive) + logits
    return least, training.states_nbytes + max(waiting, step) + RUNTIME_BYTES


def _open(least: int, most: int | None) -> str:
    if most is None:
        return f"{byte_size(least)} fit, activations are unknown"
    return f"{byte_size(least)} fit, {byte_size(most)} do not, and it is in between"


def _frozen_at_least(memory: Memory, request: MemoryRequest) -> int:
    """Weights that any training holds: at four bits under QLoRA, shared between devices under
    ZeRO's third stage."""
    assert request.train is not None
    weights = memory.weights
    frozen = weights.nbytes or 0
    if request.train.method == "qlora" or weights.nbytes is None:
        frozen = min(frozen or weights.widths.get("int4", 0), weights.widths.get("int4", 0))
    return frozen // (request.train.gpus if request.train.zero == 3 else 1)
