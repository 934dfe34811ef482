"""What training holds on one device: states by optimizer and ZeRO stage, activations, logits.

``mixed`` precision is that of ZeRO (arXiv 1910.02054, section 3.1): weights and gradients in 16
bits, float32 masters and optimizer state; ``bf16`` keeps all four in 16 bits without masters,
``fp32`` all in 32; ``amp`` is autocast: all four in 32, computed in 16. Adapters are float32, as
peft makes them, next to frozen weights as stored (lora; with ``bf16``, ``fp32`` and ``amp`` in
these bits) or in NF4 (qlora). Modules that are saved whole next to adapters are copies in the
weights' own bits.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final

from ..core.components import Component, Role
from ..core.footprint import WeightBytes
from ..core.library_versions import TRANSFORMERS_RUN_SERIES
from ..core.memory_options import MemoryOptions
from ..core.records import dataclass
from ..core.results import Inspection
from ..core.training_bytes import AdaptedGroup, Training, TrainingLine
from ..errors import UsageError
from ..trees.prediction import Prediction
from .activations import (
    ATTENTIONS,
    TrainingStep,
    attention_heads,
    framework_activations,
    korthikanti,
    usual_attention,
)
from .devices import MAX_DEVICES, parse_tokens
from .lora import MAX_RANK, Adapters, find_adapters, parse_targets, saved_whole
from .matrices import Matrix, matrices
from .optimizers import Optimizer, Trained, find_optimizer, state_bytes
from .peft_types import OLD_NAMES
from .zero import deepspeed_estimate, divides, share

METHODS: Final = ("full", "lora", "qlora")
#: Bytes of (weights, gradients, master weights, one number of optimizer state) a parameter.
PRECISIONS: Final = {
    "mixed": (2, 2, 4, 4),
    "bf16": (2, 2, 0, 2),
    "fp32": (4, 4, 0, 4),
    "amp": (4, 4, 0, 4),
}
#: peft makes adapters float32, whatever the model's dtype.
_ADAPTER: Final = PRECISIONS["fp32"]
#: Classes whose loss is over the words of each position.
_WRITES: Final = tuple(
    "ForCausalLM LMHeadModel ForConditionalGeneration MarianMTModel ForMaskedLM".split()
)
#: Tokens of a training sequence where none are named, and the model takes so many.
USUAL_TOKENS: Final = 2048
#: Values of NF4 that share a scale, and scales that share a second one (QLoRA, arXiv 2305.14314).
_NF4_BLOCK = 64
_SCALE_BLOCK = 256


@dataclass(frozen=True)
class TrainRequest:
    """The choices of ``--train``, checked. ``names_tokens`` is False where ``tokens`` are the usual
    ones, which are fewer for a model of less context."""

    method: str
    optimizer: Optimizer
    precision: str
    tokens: int
    batch: int
    gpus: int
    zero: int
    checkpointing: bool
    rank: int
    targets: tuple[str, ...]
    attention: str | None = None
    saved: tuple[str, ...] = ()
    encoder_tokens: int | None = None
    names_tokens: bool = True


def training_request(method: str, options: MemoryOptions) -> TrainRequest:
    """What a user wrote, checked. Raises UsageError."""
    for name, value, known in (
        ("train", method, METHODS),
        ("precision", options.precision, tuple(PRECISIONS)),
        ("ZeRO stage", options.zero, (0, 1, 2, 3)),
        ("attention", options.attention, (None, *ATTENTIONS)),
    ):
        if isinstance(value, bool) or value not in known:
            words = ", ".join(str(item) for item in known if item is not None)
            raise UsageError(f"{name} {value!r}", "is not known", expected=f"one of {words}")
    for name, number, most in (
        ("rank", options.rank, MAX_RANK),
        ("gpus", options.gpus, MAX_DEVICES),
    ):
        if isinstance(number, bool) or not 1 <= number <= most:
            raise UsageError(f"{name} {number!r}", "is not possible", expected=f"1 to {most:,}")
    for word, names in (("targets", options.targets), ("modules to save", options.modules_to_save)):
        if names is not None and method == "full":
            raise UsageError(word, "are those of adapters", hint="train lora or qlora")
    return TrainRequest(
        method,
        find_optimizer(options.optimizer),
        options.precision,
        USUAL_TOKENS if options.seq is None else parse_tokens(options.seq),
        options.batch,
        options.gpus,
        options.zero,
        options.checkpointing,
        options.rank,
        parse_targets(options.targets),
        options.attention,
        parse_targets(options.modules_to_save),
        options.encoder_tokens,
        options.seq is not None,
    )


def size_training(
    inspection: Inspection,
    prediction: Prediction | None,
    weights: WeightBytes,
    request: TrainRequest,
) -> Training | str:
    """The sum on one device, or the reason why it is not known.

    Raises UsageError for targets that the model does not have.
    """
    if inspection.format == "gguf":
        return "a GGUF file is not trained: name the model that it was made from"
    if prediction is None:
        return "its architecture is not in the catalog"
    if inspection.quantization is not None:
        return "its weights are packed: name the model that they were made from"
    context = inspection.facts.context
    if context and not request.names_tokens:
        request = replace(request, tokens=min(request.tokens, context))
    sized = _states(prediction, weights, request)
    if isinstance(sized, str):
        return sized
    activations, unknown = _activations(inspection, prediction, request, sized.chosen)
    return Training(
        method=request.method,
        optimizer=request.optimizer.name,
        precision=_precision(request),
        tokens=request.tokens,
        batch=request.batch,
        gpus=request.gpus,
        zero=request.zero,
        checkpointing=request.checkpointing,
        trainable=sized.trainable,
        frozen=sized.frozen,
        states=sized.lines,
        activations=activations,
        activations_unknown=unknown,
        logits=_logits(prediction, request),
        step=_step_line(sized, request),
        rank=None if request.method == "full" else request.rank,
        targets=() if sized.chosen is None else sized.chosen.names,
        adapters=sized.adapters,
        saved=sized.saved,
        estimates=_estimates(prediction, request, inspection.config or {}),
        notes=(*_notes(request, context), *_unnamed(prediction, request)),
    )


def _precision(request: TrainRequest) -> str:
    """Of what is trained: adapters are float32, under autocast too."""
    return request.precision if request.method == "full" or request.precision == "amp" else "fp32"


# ---- states


@dataclass(frozen=True)
class _States:
    """What is held of weights and optimizer, and what was chosen for adapters. ``temporary`` are
    bytes of one number of optimizer state for each parameter."""

    trainable: int
    lines: tuple[TrainingLine, ...]
    temporary: int
    frozen: int = 0
    chosen: Adapters | None = None
    adapters: tuple[AdaptedGroup, ...] = ()
    saved: Mapping[str, int] = field(default_factory=dict)


def _states(prediction: Prediction, weights: WeightBytes, request: TrainRequest) -> _States | str:
    if request.method == "full":
        trained = _all_tensors(prediction)
        reason = _muon_refuses(prediction, request)
        if reason:
            return reason
        widths = PRECISIONS[request.precision]
        count = _elements(trained)
        return _States(count, _lines(trained, widths, request), count * widths[-1])
    chosen = find_adapters(prediction, request.targets)
    groups = chosen.groups(request.rank)
    frozen = _frozen(prediction, weights, request)
    if isinstance(frozen, str):
        return frozen
    trained = tuple(
        Trained(shape, True, group.count)
        for group in groups
        for shape in ((request.rank, group.columns), (group.rows, request.rank))
    )
    nbytes, formula = frozen
    frozen_line = _line(
        "frozen weights", nbytes, formula, request, divided=divides(request.zero)[0]
    )
    lines = [frozen_line, *_lines(trained, _ADAPTER, request)]
    count = _elements(trained)
    temporary = _elements(trained) * _ADAPTER[-1]
    saved = saved_whole(prediction, request.saved) if request.saved else {}
    if saved:
        widths = PRECISIONS["fp32" if _frozen_width(prediction, request) == 4 else "bf16"]
        copies = tuple(Trained((size,), True) for size in saved.values())
        lines += [
            replace(line, name=f"saved whole, {line.name}")
            for line in _lines(copies, widths, request)
        ]
        count += _elements(copies)
        temporary += _elements(copies) * widths[-1]
    return _States(count, tuple(lines), temporary, prediction.parameters, chosen, groups, saved)


def _step_line(sized: _States, request: TrainRequest) -> TrainingLine | None:
    """What torch's AdamW takes while it steps, where the activations have gone: the root of the
    second moment of all parameters together (``_multi_tensor_adam``). Other optimizers take no
    more than a tensor's size."""
    if not request.optimizer.name.startswith("adam") or request.optimizer.name == "adamw8bit":
        return None
    _, _, on_state = divides(request.zero)
    size = sized.temporary
    return _line("optimizer's step", size, f"{size:,} of roots", request, divided=on_state)


def _frozen_width(prediction: Prediction, request: TrainRequest) -> int:
    """Bytes of a frozen weight that is not packed."""
    size_of = {"bf16": 2, "fp32": 4, "amp": 4}
    stored = 4 if prediction.dtype == "F32" and request.method == "lora" else 2
    return size_of.get(request.precision, stored)


def _elements(trained: Sequence[Trained]) -> int:
    return sum(tensor.elements for tensor in trained)


def _all_tensors(prediction: Prediction) -> tuple[Trained, ...]:
    tables = (Component.EMBEDDING, Component.HEAD)
    counts: Counter[tuple[tuple[int, ...], bool]] = Counter()
    for spec, count in prediction.tensors.counted():
        if spec.role is Role.PARAMETER:
            counts[spec.shape, len(spec.shape) == 2 and spec.component not in tables] += count
    return tuple(Trained(shape, hidden, count) for (shape, hidden), count in counts.items())


def _muon_refuses(prediction: Prediction, request: TrainRequest) -> str:
    """torch's Muon takes matrices only: experts are one tensor of three dimensions."""
    routed = any(item.kind == "expert" for item in matrices(prediction.root))
    if request.optimizer.name != "muon" or not routed:
        return ""
    return "torch's Muon takes matrices only, and transformers keeps all experts in one tensor"


def _lines(
    trained: Sequence[Trained], widths: tuple[int, int, int, int], request: TrainRequest
) -> tuple[TrainingLine, ...]:
    count = _elements(trained)
    weight, gradient, master, state = widths
    on_weights, on_gradients, on_state = divides(request.zero)
    optimizer = request.optimizer
    state_nbytes = state_bytes(optimizer, trained, state)
    shown = (
        f"{optimizer.moments} × {count:,} × {state}" if optimizer.moments else f"{state_nbytes:,}"
    )
    lines = [
        _line("weights", count * weight, f"{count:,} × {weight}", request, divided=on_weights),
        _line(
            "gradients", count * gradient, f"{count:,} × {gradient}", request, divided=on_gradients
        ),
        _line("master weights", count * master, f"{count:,} × {master}", request, divided=on_state),
        _line(
            "optimizer state",
            state_nbytes,
            f"{shown} ({optimizer.words})",
            request,
            divided=on_state,
        ),
    ]
    return tuple(line for line in lines if line.nbytes or line.name == "optimizer state")


def _line(
    name: str, nbytes: int, formula: str, request: TrainRequest, *, divided: bool
) -> TrainingLine:
    parts = divided and request.gpus > 1
    shown = f"({formula}) / {request.gpus}" if parts else formula
    return TrainingLine(name, share(nbytes, request.gpus, divided=divided), shown)


def _frozen(
    prediction: Prediction, weights: WeightBytes, request: TrainRequest
) -> tuple[int, str] | str:
    if request.method == "lora":
        if request.precision != "mixed":
            width = _frozen_width(prediction, request)
            return width * prediction.parameters, f"{prediction.parameters:,} × {width}"
        if weights.nbytes is None:
            why = f"the bytes of its frozen weights are not known: {weights.unknown}"
            return f"{why}; --precision bf16 or fp32 names one" if prediction.dtype is None else why
        return weights.nbytes, f"{weights.nbytes:,} as stored"
    all_matrices = list(matrices(prediction.root))
    if any(item.kind == "expert" for item in all_matrices):
        return "bitsandbytes packs linear layers only, and its experts are one tensor for all"
    packed = [item for item in all_matrices if _packs(item)]
    elements = sum(item.elements for item in packed)
    rest = prediction.parameters - elements
    width = _frozen_width(prediction, request)
    nbytes = sum(nf4_bytes(item.elements) for item in packed) + width * rest
    return nbytes, f"NF4 of {elements:,} + {width} × {rest:,}"


def _packs(item: Matrix) -> bool:
    return item.linear and item.component is not Component.HEAD


def nf4_bytes(elements: int) -> int:
    """A matrix in NF4 with double quantisation: half a byte an element, a byte for each block of
    64, a float32 for each 256 of these, and their mean. Tables of values are left out: 16 and 256
    float32 a matrix at most."""
    scales = -(-elements // _NF4_BLOCK)
    return -(-elements // 2) + scales + 4 * -(-scales // _SCALE_BLOCK) + 4


# ---- activations and logits


def _activations(
    inspection: Inspection, prediction: Prediction, request: TrainRequest, chosen: Adapters | None
) -> tuple[TrainingLine | None, str]:
    if request.saved:
        return None, "no recorded rule covers the activations with modules saved whole"
    targets = frozenset[str]()
    if chosen is not None:
        recorded = _recorded_targets(prediction, chosen)
        if isinstance(recorded, str):
            return None, recorded
        targets = recorded
    attention = request.attention or usual_attention(prediction)
    step = TrainingStep(
        request.tokens,
        request.batch,
        attention,
        _computed_in(prediction, request),
        request.rank,
        targets,
        request.encoder_tokens,
    )
    framework_bytes = framework_activations(prediction, inspection.config or {}, step)
    if isinstance(framework_bytes, str):
        return None, framework_bytes
    name = f"activations (transformers {TRANSFORMERS_RUN_SERIES}, {attention} attention)"
    again = request.checkpointing
    formula = f"{framework_bytes.formula(checkpointing=again)}, t = s·b = {step.places:,}"
    return TrainingLine(name, framework_bytes.nbytes(checkpointing=again), formula), ""


def _computed_in(prediction: Prediction, request: TrainRequest) -> str:
    """``amp``, ``f32`` or ``bf16``, as the recorded rules call them."""
    if request.precision == "amp":
        return "amp"
    if request.method == "full":
        return "f32" if request.precision == "fp32" else "bf16"
    return "f32" if _frozen_width(prediction, request) == 4 else "bf16"


def _recorded_targets(prediction: Prediction, chosen: Adapters) -> frozenset[str] | str:
    """Names of the layers with adapters, as rules have them: all layers of a name or none."""
    if chosen.gate_up or chosen.down or chosen.routers:
        return "no recorded rule covers the activations with adapters of experts and routers"
    if chosen.tables:
        return "no recorded rule covers the activations with adapters of tables"
    names = {item.name for item in chosen.linear}
    heads = [item.path for item in chosen.linear if item.kind == "lm_head"]
    if heads:
        return f"no recorded rule covers the activations with an adapter of {heads[0]}"
    paths = {item.path for item in chosen.linear}
    for item in matrices(prediction.root):
        of_name = item.linear and item.name in names and item.kind != "lm_head"
        if of_name and item.path not in paths:
            return f"adapters at some of the layers named {item.name} have no recorded rule"
    return frozenset(names)


def _logits(prediction: Prediction, request: TrainRequest) -> TrainingLine | None:
    """Four copies at most: in the weights' dtype, in float32, their log-softmax, its gradient."""
    if not prediction.architecture.endswith(_WRITES):
        return None
    heads = [item for item in matrices(prediction.root) if item.component is Component.HEAD]
    heads = [item for item in heads if item.kind == "lm_head"] or heads  # less a transform
    if len(heads) != 1:
        return None
    rows = heads[0].rows
    full = request.method == "full"
    wide = request.precision == "fp32" if full else _computed_in(prediction, request) == "f32"
    first = 4 if wide else 2
    return TrainingLine(
        "logits, at most",
        request.tokens * request.batch * rows * (first + 12),
        f"{request.tokens:,} × {request.batch} × {rows:,} × ({first} + 4 + 4 + 4)",
    )


def _estimates(
    prediction: Prediction, request: TrainRequest, config: Mapping[str, Any]
) -> dict[str, int]:
    """Named formulas of others, for comparison."""
    by_method: dict[str, int] = {}
    heads = attention_heads(prediction, config)
    _, width = prediction.read.get("hidden_size", ("", 0))
    _, layers = prediction.read.get("num_hidden_layers", ("", 0))
    sizes = (heads, width, layers)
    if all(isinstance(size, int) and size > 0 for size in sizes):
        h = int(width)  # type: ignore[arg-type]
        a = int(heads or 0)
        depth = int(layers)  # type: ignore[arg-type]
        every = korthikanti(request.tokens, request.batch, h, a)
        some = korthikanti(request.tokens, request.batch, h, a, selective=True)
        by_method["activations of a GPT of this size (Korthikanti et al. eq. 1)"] = depth * every
        by_method["with selective recomputation (Korthikanti et al. eq. 6)"] = depth * some
        by_method["with full recomputation (Korthikanti et al. section 5)"] = (
            2 * request.tokens * request.batch * h * depth
        )
    if (
        request.method == "full"
        and request.precision == "mixed"
        and request.optimizer.name == "adamw"
    ):
        largest = _largest_layer(prediction)
        estimates = deepspeed_estimate(prediction.parameters, largest, request.gpus, request.zero)
        by_method |= {
            f"states, DeepSpeed's estimator, {key}": size for key, size in estimates.items()
        }
    return by_method


def _largest_layer(prediction: Prediction) -> int:
    """The most parameters that one module holds itself, as DeepSpeed counts layers."""
    sums: Counter[tuple[int, str]] = Counter()
    # Equal layers are one template, whose names are relative; all other names are whole.
    places = {
        id(p.template) if p.head else -i: p for i, p in enumerate(prediction.tensors.places())
    }
    for key, place in places.items():
        for spec in place.template.rows:
            sums[max(key, 0), spec.name.rpartition(".")[0]] += spec.parameters
    return max(sums.values(), default=0)


def _unnamed(prediction: Prediction, request: TrainRequest) -> tuple[str, ...]:
    """Where the targets of peft's own table are taken, and peft does not find them."""
    if request.method == "full" or request.targets or prediction.model_type not in OLD_NAMES:
        return ()
    return ("with transformers 5, peft 0.21.2 wants the targets of this type to be named",)


def _notes(request: TrainRequest, context: int | None) -> tuple[str, ...]:
    notes = ["gradients of activations and the device's runtime are not included"]
    if context is not None and request.tokens > context:
        notes.append(f"{request.tokens:,} tokens are more than the model's own {context:,}")
    if request.method == "qlora":
        notes.append(
            "weights outside the packed layers stay in 16 bits; peft's "
            "prepare_model_for_kbit_training makes them float32, and more or fewer activations wait"
        )
    if request.method == "full" and request.precision == "mixed":
        notes.append(
            "mixed: 16-bit weights and gradients with float32 masters; autocast keeps float32 "
            "weights and gradients instead"
        )
    return tuple(notes)
