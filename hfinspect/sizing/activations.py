"""Activations that wait for the backward pass.

Two kinds of answer, never mixed. ``korthikanti`` is equation 1 of Korthikanti et al. (arXiv
2205.05198): a GPT layer with 16-bit activations, dropout and a feed-forward four times as wide; a
named estimate for any other model. ``framework_activations`` is what PyTorch's autograd keeps for
transformers, to the byte, by the rules of activation_rules.json: sums of multiples of products
of a model's sizes, which tests/oracle/record_activations.py finds in recordings.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from ..core import data_files
from ..core.records import dataclass
from ..trees.modules import Module, Parameter
from ..trees.prediction import Prediction
from .activation_rule import rule_name
from .activation_terms import products
from .kv_cache import cached_layers, decoder_blocks, encoder_blocks
from .matrices import matrices

#: Kernels of attention whose recordings there are: ``eager`` keeps the square of scores, ``sdpa``
#: (and other flash kernels) queries, keys, values, the output and a float32 a token and head.
ATTENTIONS: Final = ("sdpa", "eager")
#: Copies that torch 2.13 keeps of a fused projection at batch 1, and later versions do not.
_AT_ONE: Final = frozenset({"th, b = 1", "qkv, b = 1"})
#: Names of what makes queries, keys and values: with no adapter there, the first layer's attention
#: has no gradient.
_BEFORE_ATTENTION: Final = frozenset({"q_proj", "k_proj", "v_proj", "qkv_proj"})


def korthikanti(tokens: int, batch: int, width: int, heads: int, *, selective: bool = False) -> int:
    """Bytes of one GPT layer: s·b·h·(34 + 5·a·s/h); selective recomputation leaves 34·s·b·h."""
    linear = 34 * tokens * batch * width
    return linear if selective else linear + 5 * heads * tokens * tokens * batch


@dataclass(frozen=True)
class KeptLayers:
    """Bytes that autograd keeps for each of so many equal layers, and for the input of one."""

    layer: int
    layer_input: int
    layers: int
    formula: str


@dataclass(frozen=True)
class KeptActivations:
    """Bytes that autograd keeps for the layers (of an encoder-decoder those of both sides), and
    outside them (less than nothing where the first layer keeps less than others). ``windowed`` are
    the decoder's layers that get a mask, as their window is no longer than the sequence."""

    decoder: KeptLayers
    outside: int
    encoder: KeptLayers | None = None
    windowed: KeptLayers | None = None

    @property
    def layer(self) -> int:
        """Of one layer of the decoder without a mask."""
        return self.decoder.layer

    @property
    def sides(self) -> tuple[KeptLayers, ...]:
        sizes = (self.encoder, self.decoder, self.windowed)
        return tuple(side for side in sizes if side is not None and side.layers)

    def nbytes(self, *, checkpointing: bool) -> int:
        """With checkpointing each layer's input waits, and one layer at a time is whole."""
        if not checkpointing:
            return sum(side.layers * side.layer for side in self.sides) + self.outside
        inputs = sum(side.layers * side.layer_input for side in self.sides)
        return inputs + max(side.layer for side in self.sides) + self.outside

    def formula(self, *, checkpointing: bool) -> str:
        parts = [
            f"{side.layers} × {f'{side.layer_input:,}' if checkpointing else f'({side.formula})'}"
            for side in self.sides
        ]
        if checkpointing:
            parts.append(f"({max(self.sides, key=lambda side: side.layer).formula})")
        return f"{' + '.join(parts)} + {self.outside:,}"


@dataclass(frozen=True)
class TrainingStep:
    """A step of training: s tokens of b sequences (and as many of an encoder, if not said), the
    kernel of attention, what is computed in (``bf16``, ``f32``, ``amp``: autocast to bfloat16), and
    the names of the layers with adapters of ``rank``; all weights are trained where there are none.
    """

    tokens: int
    batch: int
    attention: str = "sdpa"
    precision: str = "bf16"
    rank: int = 0
    targets: frozenset[str] = frozenset()
    encoder_tokens: int | None = None

    @property
    def places(self) -> int:
        return self.tokens * self.batch


def framework_activations(
    prediction: Prediction, config: Mapping[str, Any], step: TrainingStep
) -> KeptActivations | str:
    """What autograd keeps, or why no rule gives it.

    Without a cache, as transformers' Trainer trains (``use_cache`` of TrainingArguments).
    """
    rules = _rules()
    name, reason = rule_name(prediction, config, step.attention, step.precision, rules)
    if reason:
        return reason
    parts = _parts(rules[name], step.targets)
    if isinstance(parts, str):
        return parts
    if step.batch == 1 and not _AT_ONE.isdisjoint(parts["layer"]):
        return "what is kept of one sequence differs between versions of torch"
    sizes = _sizes(prediction, config)
    if sizes is None:
        return "its number of attention heads is not known"
    terms = _terms(sizes, step)
    wide = 2 if step.precision == "bf16" else 4  # the residual stream, under autocast too
    inputs = wide * step.places * sizes.width
    windows = [layer.window for layer in cached_layers(prediction.root)]
    masked = [window is not None and step.tokens >= window for window in windows]
    outside = _sum(parts["outside"], terms)
    if None in windows and set(windows) != {None}:
        outside += _sum(rules[name].get("both", {}), terms)
    windowed = None
    if step.attention == "sdpa" and any(masked):
        more = rules[name].get("windowed")
        if more is None:
            return "no recorded rule covers the activations of layers with a window"
        windowed = _layers(_added(parts["layer"], more), terms, inputs, sum(masked))
        if masked[0] and step.targets and step.targets.isdisjoint(_BEFORE_ATTENTION):
            outside -= _sum(more, terms)  # its attention has no gradient: it keeps no mask
    full = sizes.layers - (windowed.layers if windowed else 0)
    decoder = _layers(parts["layer"], terms, inputs, full)
    encoder = None
    if "encoder" in parts:
        inputs = wide * step.batch * _seen(step) * sizes.width
        encoder = _layers(parts["encoder"], terms, inputs, sizes.encoder_layers)
    return KeptActivations(decoder, outside, encoder, windowed)


def _added(rule: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return {name: rule.get(name, 0) + more.get(name, 0) for name in (*rule, *more)}


def _layers(
    rule: Mapping[str, int], terms: Mapping[str, int], inputs: int, layers: int
) -> KeptLayers:
    return KeptLayers(_sum(rule, terms), inputs, layers, _formula(rule))


def usual_attention(prediction: Prediction) -> str:
    """What transformers takes where nothing else is said: SDPA where the type has it."""
    kind = prediction.model_type
    rules = _rules()
    has_sdpa = any(name.startswith(f"{kind} sdpa ") for name in rules)
    return "eager" if not has_sdpa and f"{kind} eager bf16" in rules else "sdpa"


@cache
def _rules() -> Mapping[str, Mapping[str, Any]]:
    """Equal rules are there once; the others have its name."""
    rules = data_files.read(__package__, "activation_rules.json")
    return {name: rules[rule] if isinstance(rule, str) else rule for name, rule in rules.items()}


def _parts(rule: Mapping[str, Any], targets: frozenset[str]) -> dict[str, dict[str, int]] | str:
    """Bytes by product, of a layer, an encoder's layer and outside the layers."""
    if not targets:
        full: dict[str, dict[str, int]] = rule["full"]
        return full
    by_names = rule.get("adapters")
    if by_names is None:
        return "no recorded rule covers its activations with adapters"
    unknown = sorted(targets - set(by_names["names"]))
    if unknown:
        return (
            f"no recorded rule covers the activations with adapters at {', '.join(unknown)} "
            f"(known: {', '.join(by_names['names'])})"
        )
    return {part: _at_targets(rows, targets) for part, rows in by_names.items() if part != "names"}


def _at_targets(rows: Mapping[str, Mapping[str, int]], targets: frozenset[str]) -> dict[str, int]:
    """The sum of what is kept where one of some names has an adapter; no names are all of them."""
    counts: dict[str, int] = {}
    for names, rule in rows.items():
        if not names or not targets.isdisjoint(names.split()):
            for product, number in rule.items():
                counts[product] = counts.get(product, 0) + number
    return {product: number for product, number in counts.items() if number}


# ---- sizes and products


@dataclass(frozen=True)
class _Sizes:
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    inner: int
    layers: int
    vocabulary: int = 0
    experts: int = 0
    served: int = 0
    encoder_inner: int | None = None
    encoder_layers: int = 0


def _seen(step: TrainingStep) -> int:
    return step.tokens if step.encoder_tokens is None else step.encoder_tokens


def _terms(of: _Sizes, step: TrainingStep) -> dict[str, int]:
    """Products of the sizes, and those that count only for one sequence or one key/value head."""
    sizes = {
        "h": of.width,
        "a": of.heads,
        "g": of.kv_heads,
        "d": of.head_dim,
        "I": of.inner,
        "s": step.tokens,
        "b": step.batch,
        "r": step.rank,
        "V": of.vocabulary,
        "k": of.served,
        "E": of.experts,
    }
    if of.encoder_inner is not None:
        sizes |= {"I": of.encoder_inner, "J": of.inner, "e": _seen(step)}
    terms = products(sizes)
    for name in ("th", "tQ", "tK", "qkv"):
        alone = terms[name] * (step.batch == 1)
        terms[f"{name}, b = 1"] = alone
        terms[f"{name}, b = g = 1"] = alone * (of.kv_heads == 1 < of.heads)
        terms[f"{name}, g < a"] = terms[name] * (of.kv_heads < of.heads)
    return terms


def _sum(rule: Mapping[str, int], terms: Mapping[str, int]) -> int:
    return sum(number * terms[name] for name, number in rule.items())


def _formula(rule: Mapping[str, int]) -> str:
    """``16·t·h + 8·t``: t = s·b tokens of a step, Q and K the widths of queries and keys."""
    parts = []
    for name, number in rule.items():
        term, _, when = name.partition(", ")
        term = term.replace("qkv", "N")
        shown = "·".join((str(abs(number)), *term))
        sign = "-" if number < 0 else "+"
        parts.append(f"{sign} {shown}{f' (if {when})' if when else ''}")
    return " ".join(parts).removeprefix("+ ")


def _sizes(prediction: Prediction, config: Mapping[str, Any]) -> _Sizes | None:
    """Sizes as the tree has them."""
    blocks = decoder_blocks(prediction.root)
    heads = attention_heads(prediction, config)
    if heads is None or not blocks:
        return None
    rows = _rows(blocks[0])
    out, columns = rows["output"]
    head_dim, more = divmod(columns, heads)
    if more or not head_dim:
        return None
    kv_heads = heads
    if "key" in rows:
        kv_heads = rows["key"][0] // head_dim
    elif "qkv" in rows:
        kv_heads = (rows["qkv"][0] - columns) // (2 * head_dim)
    served, experts, inner = _mixture(blocks[0], rows, out)
    tables = [spec for spec in prediction.specs[:8] if spec.kind == "token"]
    encoder = encoder_blocks(prediction.root)
    return _Sizes(
        out,
        heads,
        kv_heads,
        head_dim,
        inner,
        len(blocks),
        int(tables[0].shape[0]) if tables else 0,
        experts,
        served,
        _rows(encoder[0])["up"][0] if encoder else None,
        len(encoder),
    )


def _mixture(
    block: Module, rows: Mapping[str, tuple[int, int]], width: int
) -> tuple[int, int, int]:
    """(k, n, inner width) of the experts, or (0, 0, inner width) of the feed-forward layer."""
    routed = [item for item in matrices(block) if item.kind == "expert" and item.active]
    if routed:
        served, experts = routed[0].active or (0, 0)
        shape = (routed[0].rows, routed[0].columns)
        return served, experts, shape[1] if shape[0] == width else shape[0]
    if "up" in rows:
        return 0, 0, rows["up"][0]
    return 0, 0, rows["gate_up"][0] // 2


def attention_heads(prediction: Prediction, config: Mapping[str, Any]) -> int | None:
    """Attention heads, as the class read them, or where no shape has them as the config says;
    None where it does not."""
    key = "num_attention_heads"
    _, heads = prediction.read.get(key, ("", config.get(key)))
    return int(heads) if isinstance(heads, int) and heads > 0 else None


def _rows(module: Module) -> dict[str, tuple[int, int]]:
    """(outputs, inputs) of a block's projections by kind."""
    counts: dict[str, tuple[int, int]] = {}
    for child in module.children.values():
        if not isinstance(child, Module):
            continue
        weight = child.children.get("weight")
        if child.kind and isinstance(weight, Parameter) and len(weight.shape) == 2:
            rows, columns = map(int, weight.shape)
            turned = child.class_name == "Conv1D"
            counts[child.kind] = (columns, rows) if turned else (rows, columns)
        else:
            counts |= _rows(child)
    return counts
