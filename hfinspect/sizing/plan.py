"""The whole sum: weights, cache and workspace, on which device it fits and up to which context."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.footprint import AtContext, Memory, WeightBytes, Workspace
from ..core.results import Inspection
from ..core.tensor import TensorInfo
from ..errors import UsageError
from ..trees.keeps import Keeps, KeysValues, State
from ..trees.modules import Module, ModuleList, Parameter
from ..trees.prediction import Prediction
from .devices import Device, parse_device, parse_tokens, smallest_card
from .engines import Engine, Settings, as_cache_dtype, bytes_an_element, find_engine
from .flops import count_flops
from .kv_cache import KeptLayer, cache_size, kept_layers, unknown_layouts

if TYPE_CHECKING:
    from .training import TrainWish

#: Contexts that are shown where none is named, next to the model's own.
USUAL_CONTEXTS: Final = (4096, 32768)
#: A device's context and libraries: about half a gigabyte with CUDA 12 (torch, cuBLAS, kernels).
RUNTIME_BYTES: Final = 512 * 1024**2
#: Tokens of a prompt that are worked on at once where no engine says it: engines cut longer ones.
PREFILL_TOKENS: Final = 2048
#: Where the search for the longest context ends.
MAX_CONTEXT: Final = 2**31
MAX_BATCH: Final = 2**20
#: Endings of classes that write one token after the other.
GENERATES: Final = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "DoubleHeadsModel")


@dataclass(frozen=True)
class Wish:
    """What is to be sized: the choices of ``hfinspect memory``."""

    engine: Engine
    context: int | None = None
    batch: int = 1
    dtype: str | None = None
    encoder_tokens: int | None = None
    device: Device | None = None
    tensor_parallel: int = 1
    settings: Settings = field(default_factory=Settings)
    train: TrainWish | None = None


def wished(
    *,
    engine: str,
    context: int | str | None,
    batch: int,
    cache_dtype: str | None,
    encoder_tokens: int | None,
    on: str | None,
    tensor_parallel: int,
) -> Wish:
    """What a user wrote, checked. Raises UsageError."""
    for name, value in (("batch", batch), ("tensor_parallel", tensor_parallel)):
        if isinstance(value, bool) or not 1 <= value <= MAX_BATCH:
            raise UsageError(f"{name} {value!r}", "is not possible", expected=f"1 to {MAX_BATCH:,}")
    if encoder_tokens is not None and not 0 <= encoder_tokens <= MAX_CONTEXT:
        raise UsageError(f"encoder tokens {encoder_tokens!r}", "are not possible", expected="0 up")
    return Wish(
        engine=find_engine(engine),
        context=None if context is None else parse_tokens(context),
        batch=batch,
        dtype=None if cache_dtype is None else as_cache_dtype(cache_dtype),
        encoder_tokens=encoder_tokens,
        device=None if on is None else parse_device(on),
        tensor_parallel=tensor_parallel,
    )


def plan(found: Inspection, prediction: Prediction | None, wish: Wish) -> Memory:
    """Everything that is known; a cache that is not is refused by its reason, not guessed."""
    weights = _weights(found, wish)
    base = Memory(
        target=found.target, origin=found.origin, architecture=found.architecture,
        model_type=found.model_type, engine=wish.engine.name, version=wish.engine.version,
        batch=wish.batch, tensor_parallel=wish.tensor_parallel, weights=weights,
        own_context=found.facts.context,
        device=None if wish.device is None
        else (wish.device.name, wish.device.nbytes, wish.device.count),
    )  # fmt: skip
    base = _with_training(base, found, prediction, wish)
    reason = _no_cache(found, prediction)
    layers: tuple[KeptLayer, ...] = ()
    if not reason and prediction is not None:
        layers = kept_layers(prediction.root)
        reason = "; ".join(unknown_layouts(layers))
    if reason or prediction is None:
        return replace(base, cache_unknown=reason)
    dtype, assumed = _cache_dtype(prediction, wish)
    divided = tuple(_divided(layer, wish.tensor_parallel, found) for layer in layers)
    sized = _Sizer(divided, prediction.root, dtype, assumed, wish, weights.per_device)
    contexts = _contexts(found.facts.context, wish.context)
    entries = tuple(sized.at(context, wish.batch) for context in contexts)
    if not any(layer.keeps for layer in layers):
        base = replace(base, notes=("it keeps nothing between tokens",))
    if entries:
        flops = count_flops(prediction, layers, entries[-1].context, wish.batch)
        if isinstance(flops, str):
            base = replace(base, flops_unknown=flops)
        else:
            base = replace(base, flops=flops)
    return _with_limits(replace(base, at=entries), sized, wish, found.facts.context)


def _with_training(
    base: Memory, found: Inspection, prediction: Prediction | None, wish: Wish
) -> Memory:
    if wish.train is None:
        return base
    if found.members:
        return replace(base, training_unknown="it is a model of several parts; size one of them")
    from .training import size_training  # most questions are not about training

    sized = size_training(found, prediction, base.weights, wish.train, wish.device)
    if isinstance(sized, str):
        return replace(base, training_unknown=sized)
    return replace(base, training=sized)


def _contexts(own: int | None, named: int | None) -> tuple[int, ...]:
    if named is not None:
        return (named,)
    usual = [tokens for tokens in USUAL_CONTEXTS if own is None or tokens < own]
    return (*usual, own) if own else tuple(usual)


def _no_cache(found: Inspection, prediction: Prediction | None) -> str:
    """Why there is no cache to size; empty where there may be one."""
    if found.members:
        return "it is a model of several parts; size one of them"
    if prediction is None:
        return "its architecture is not in the catalog" if found.config else "it has no config.json"
    if not _generates(prediction, found):
        return "an encoder keeps nothing between tokens"
    return ""


def _generates(prediction: Prediction, found: Inspection) -> bool:
    """Whether the class writes tokens one after the other, and so keeps anything between them."""
    category = prediction.family.category if prediction.family else ""
    if category == "encoder":
        decodes = ModelConfig(found.config or {}).flag("is_decoder", default=False)
        return decodes and prediction.architecture.endswith(GENERATES)
    return category in ("text decoder", "encoder-decoder") or prediction.architecture.endswith(
        GENERATES
    )


def _cache_dtype(prediction: Prediction, wish: Wish) -> tuple[str, str]:
    """The dtype of keys and values and, where nobody said it, why it is taken."""
    if wish.dtype is not None:
        return wish.dtype, ""
    if wish.engine.name == "llama.cpp":
        return "F16", "llama.cpp's default"
    if prediction.dtype in ("BF16", "F16", "F32"):
        return prediction.dtype, ""
    return "BF16", "the config names no dtype"


# ---- weights


def _weights(found: Inspection, wish: Wish) -> WeightBytes:
    beyond = [group.nbytes for group in found.beyond]
    more = sum(size for size in beyond if size is not None)
    nbytes = None if found.nbytes is None else found.nbytes - more
    per_device = nbytes
    if nbytes is not None and wish.tensor_parallel > 1:
        per_device = sum(_share(t, wish.tensor_parallel, found) for t in found.tensors) - more
    unknown = ""
    if nbytes is None:
        reasons = [finding.text for finding in found.findings if "bytes" in finding.text]
        unknown = reasons[0] if reasons else "the bytes of some tensors are not known"
    return WeightBytes(
        nbytes=nbytes, source=found.source, parameters=found.parameters, per_device=per_device,
        widths=found.memory, unknown=unknown,
    )  # fmt: skip


#: Components whose matrices tensor parallelism divides; norms and routers are on every device.
_DIVIDED: Final = frozenset(
    {Component.ATTENTION, Component.MLP, Component.EMBEDDING, Component.HEAD, Component.SSM}
)
#: Kinds that every device holds whole: one latent for all heads, tables of positions.
_WHOLE: Final = frozenset({"query_down", "kv_down", "position", "segment", "relative_position"})


def _share(tensor: TensorInfo, ranks: int, found: Inspection) -> int:
    """Bytes of one tensor on the fullest of ``ranks`` devices."""
    nbytes = tensor.nbytes or 0
    if tensor.component not in _DIVIDED or tensor.kind in _WHOLE or len(tensor.shape) < 2:
        return nbytes
    heads = found.facts.kv_heads
    if tensor.kind in ("key", "value") and heads and heads < ranks:
        return -(-nbytes // heads)
    return -(-nbytes // ranks)


def _divided(layer: KeptLayer, ranks: int, found: Inspection) -> KeptLayer:
    """What one of ``ranks`` devices keeps of a layer: whole heads, at least one; latents whole."""
    if ranks == 1:
        return layer
    return replace(layer, keeps=tuple(_part(item, ranks, found) for item in layer.keeps))


def _part(item: Keeps, ranks: int, found: Inspection) -> Keeps:
    if isinstance(item, State):
        first, *rest = item.shape
        return replace(item, shape=(-(-int(first) // ranks), *rest))
    if not isinstance(item, KeysValues) or item.latent or item.name:
        return item
    heads = int(item.heads or found.facts.kv_heads or found.facts.heads or 1)
    kept = -(-heads // ranks)
    return replace(
        item, key=int(item.key) * kept // heads, value=int(item.value) * kept // heads, heads=kept
    )


# ---- one context


@dataclass(frozen=True)
class _Sizer:
    layers: Sequence[KeptLayer]
    root: Module
    dtype: str
    assumed: str
    wish: Wish
    weights: int | None

    def at(self, context: int, batch: int) -> AtContext:
        wish = self.wish
        cache = cache_size(
            self.layers, wish.engine, tokens=context, batch=batch, dtype=self.dtype,
            encoder_tokens=wish.encoder_tokens, settings=wish.settings, assumed=self.assumed,
        )  # fmt: skip
        workspace = self._workspace(context, batch)
        total = None
        if self.weights is not None:
            total = self.weights + cache.nbytes + workspace.nbytes
        if wish.device is None or total is None:
            return AtContext(cache, workspace, total)
        # Without tensor parallelism several devices hold the sum together.
        held = wish.device.nbytes if wish.tensor_parallel > 1 else wish.device.total
        return AtContext(cache, workspace, total, total <= held)

    # The tree is walked once, however many contexts and batches are tried.
    @cached_property
    def _token_table(self) -> tuple[int, int]:
        return _table(self.root)

    @cached_property
    def _widest_block(self) -> int:
        return _widest(self.root)

    def _workspace(self, context: int, batch: int) -> Workspace:
        """Source of the limit: outputs of the widest group of projections that a layer holds at
        once (gate and up, or query, key and value) next to two copies of the residual stream."""
        tokens = min(context, _step(self.wish))
        vocabulary, hidden = self._token_table
        widest = self._widest_block
        size = bytes_an_element("F32" if self.dtype == "F32" else "BF16")
        ranks = self.wish.tensor_parallel
        activation = math.ceil(batch * tokens * (-(-widest // ranks) + 2 * hidden) * size)
        return Workspace(
            logits=batch * vocabulary * 4,
            activation=activation,
            runtime=RUNTIME_BYTES,
            formula=f"{batch} × {vocabulary:,} × 4 + {batch} × {tokens:,} × ({widest:,} + 2 × "
            f"{hidden:,}) × {size} + {RUNTIME_BYTES:,}",
        )


def _step(wish: Wish) -> int:
    """Tokens that one step works on at most."""
    steps = {
        "logical": PREFILL_TOKENS, "sglang": wish.settings.batched_tokens,
        "vllm": wish.settings.batched_tokens, "llama.cpp": wish.settings.ubatch,
    }  # fmt: skip
    return steps.get(wish.engine.name, MAX_CONTEXT)


def _table(root: Module) -> tuple[int, int]:
    """Rows and width of the largest token table."""
    best = (0, 0)
    waiting, seen = [root], set[int]()
    while waiting:
        module = waiting.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        weight = module.children.get("weight")
        if module.kind == "token" and isinstance(weight, Parameter):
            best = max(best, (int(weight.shape[0]), int(weight.shape[1])))
        waiting += [child for child in module.children.values() if isinstance(child, Module)]
    return best


def _widest(module: Module) -> int:
    """The most rows that the linear children of one block have together."""
    best, seen = 0, set[int]()
    waiting = [module]
    while waiting:
        block = waiting.pop()
        if id(block) in seen:
            continue
        seen.add(id(block))
        rows = 0
        for child in block.children.values():
            if not isinstance(child, Module):
                continue
            waiting.append(child)
            weight = child.children.get("weight")
            is_linear = child.kind in _INNER and isinstance(weight, Parameter)
            if is_linear and isinstance(weight, Parameter) and len(weight.shape) == 2:
                rows += int(weight.shape[1 if child.class_name == "Conv1D" else 0])
        if not isinstance(block, ModuleList):
            best = max(best, rows)
    return best


#: Projections from the residual stream.
_INNER: Final = frozenset({"gate", "up", "gate_up", "query", "key", "value", "qkv", "key_value"})


# ---- what fits


def _with_limits(base: Memory, sized: _Sizer, wish: Wish, own: int | None) -> Memory:
    main = base.main
    if main is None or main.total is None:
        return base
    notes = list(base.notes)
    if own and main.context > own:
        notes.append(f"{main.context:,} tokens are more than the {own:,} that the config allows")
    found = replace(base, smallest_card=smallest_card(main.total), notes=tuple(notes))
    if wish.device is None:
        return found
    return replace(
        found,
        max_context=_largest(lambda n: sized.at(n, wish.batch).fits, MAX_CONTEXT),
        max_batch=_largest(lambda n: sized.at(main.context, n).fits, MAX_BATCH),
    )


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
