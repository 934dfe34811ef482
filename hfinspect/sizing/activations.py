"""Activations that wait for the backward pass.

Two kinds of answer, never mixed. ``korthikanti`` is equation 1 of Korthikanti et al. (arXiv
2205.05198): a GPT layer with 16-bit activations, dropout and a feed-forward four times as wide; a
named estimate for any other model. ``framework_kept`` is what PyTorch's autograd keeps for
transformers 5.23 in 16 bits, to the byte, by the rules of kept_rules.json: sums of whole multiples
of a model's sizes, which tests/oracle/record_activations.py finds in recordings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Final

from ..core.records import dataclass
from ..trees.modules import Module, Parameter
from ..trees.prediction import Prediction
from .kv_cache import decoder_blocks
from .matrices import matrices

#: Kernels of attention whose recordings there are: ``eager`` keeps the square of scores, ``sdpa``
#: (and other flash kernels) queries, keys, values, the output and a float32 a token and head.
ATTENTIONS: Final = ("sdpa", "eager")
#: Copies that torch 2.13 keeps of a fused projection at batch 1, and later versions do not.
_AT_ONE: Final = "th, b = 1"
#: Classes whose forward pass was recorded, by what follows the model type's own name.
_HEADS: Final = ("ForCausalLM", "LMHeadModel", "ForMaskedLM")
#: Functions that keep their input alone; gelu_new is a formula of many steps, relu keeps its
#: output.
_PLAIN: Final = frozenset({"silu", "swish", "gelu", "gelu_pytorch_tanh"})
_ACTIVATIONS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {"gpt2": frozenset({"gelu_new"}), "phi": frozenset({"gelu_new"}), "opt": frozenset({"relu"})}
)
_ACTIVATION_KEYS: Final = ("hidden_act", "hidden_activation", "activation_function", "activation")


@dataclass(frozen=True)
class _Dropout:
    """Rates of dropout with their defaults: on the residual stream, and the attention's own, which
    only eager attention keeps. ``both``: recorded with both or neither."""

    residual: Mapping[str, float]
    attention: Mapping[str, float]
    both: bool = False


_DROPOUTS: Final[Mapping[str, _Dropout]] = MappingProxyType(
    {
        "gpt2": _Dropout({"embd_pdrop": 0.1, "resid_pdrop": 0.1}, {"attn_pdrop": 0.1}, True),
        **dict.fromkeys(
            ("bert", "roberta"),
            _Dropout({"hidden_dropout_prob": 0.1}, {"attention_probs_dropout_prob": 0.1}, True),
        ),
        "opt": _Dropout({"dropout": 0.1}, {"attention_dropout": 0.0}, True),
        "bloom": _Dropout({"hidden_dropout": 0.0}, {"attention_dropout": 0.0}, True),
        "gpt_neox": _Dropout({"hidden_dropout": 0.0}, {"attention_dropout": 0.0}),
        **dict.fromkeys(
            ("phi", "phi3"),
            _Dropout({"resid_pdrop": 0.0, "embd_pdrop": 0.0}, {"attention_dropout": 0.0}),
        ),
        "starcoder2": _Dropout(
            {"residual_dropout": 0.0, "embedding_dropout": 0.0}, {"attention_dropout": 0.0}
        ),
    }
)
#: Keys that change what is computed, with the value that was recorded.
_RECORDED_AS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "stablelm": {"qk_layernorm": False, "use_parallel_residual": False},
        "phi": {"qk_layernorm": False},
        "gpt_neox": {"use_parallel_residual": True},
        "bloom": {"apply_residual_connection_post_layernorm": False},
        "opt": {"do_layer_norm_before": True, "_remove_final_layer_norm": False},
        "gpt2": {"reorder_and_upcast_attn": False, "add_cross_attention": False},
        "bert": {"is_decoder": False},
        "roberta": {"is_decoder": False},
        "qwen3_moe": {"mlp_only_layers": [], "decoder_sparse_step": 1},
        "mixtral": {"router_jitter_noise": 0.0, "output_router_logits": False},
        "gemma2": {"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0},
        "gemma3_text": {"attn_logit_softcapping": None, "final_logit_softcapping": None},
    }
)


def korthikanti(tokens: int, batch: int, width: int, heads: int, *, selective: bool = False) -> int:
    """Bytes of one GPT layer: s·b·h·(34 + 5·a·s/h); selective recomputation leaves 34·s·b·h."""
    linear = 34 * tokens * batch * width
    return linear if selective else linear + 5 * heads * tokens * tokens * batch


@dataclass(frozen=True)
class Kept:
    """Bytes that autograd keeps for one layer, for its input, and outside the layers (less than
    nothing where the first layer keeps less than others)."""

    layer: int
    layer_input: int
    outside: int
    layers: int
    formula: str


@dataclass(frozen=True)
class Step:
    """A step of training: s tokens of b sequences, the kernel of attention, and which weights are
    trained: ``full``, or adapters of ``rank`` at peft's ``default`` targets or ``all-linear``."""

    tokens: int
    batch: int
    attention: str = "sdpa"
    way: str = "full"
    rank: int = 0

    @property
    def places(self) -> int:
        return self.tokens * self.batch


def framework_kept(
    prediction: Prediction, config: Mapping[str, Any], step: Step
) -> Kept | str:  # fmt: skip
    """What autograd keeps in 16 bits, or why no rule gives it."""
    kind = prediction.model_type or "unknown"
    known = sorted({name.split()[0] for name in _rules()})
    if kind not in known or not prediction.architecture.endswith(_HEADS):
        return (
            f"what autograd keeps for {prediction.architecture} has no recorded rule "
            f"(known: language models of {', '.join(known)})"
        )
    reason = _not_as_recorded(kind, config)
    if reason:
        return reason
    dropout = _dropout(kind, config, step.attention)
    if dropout is None:
        return "its rates of dropout are partly zero, which no recorded rule counts"
    name = f"{kind} {step.attention} {step.way}{' dropout' if dropout else ''}"
    rule = _rules().get(name)
    if rule is None:
        return f"what autograd keeps has no recorded rule for {name}"
    if step.batch == 1 and _AT_ONE in rule["layer"]:
        return "what is kept of one sequence differs between versions of torch"
    sizes = _sizes(prediction)
    if sizes is None:
        return "its number of attention heads is not known"
    terms = _terms(sizes, step)
    return Kept(
        _sum(rule["layer"], terms), 2 * step.tokens * step.batch * sizes.width,
        _sum(rule["outside"], terms), sizes.layers, _formula(rule["layer"]),
    )  # fmt: skip


def usual_attention(prediction: Prediction) -> str:
    """What transformers takes where nothing else is said: SDPA where the type has it."""
    has_sdpa = f"{prediction.model_type} sdpa full" in _rules()
    return "sdpa" if has_sdpa or f"{prediction.model_type} eager full" not in _rules() else "eager"


@cache
def _rules() -> Mapping[str, Mapping[str, Mapping[str, int]]]:
    text = resources.files(__package__).joinpath("kept_rules.json").read_text()
    found: Mapping[str, Mapping[str, Mapping[str, int]]] = json.loads(text)
    return found


def _not_as_recorded(kind: str, config: Mapping[str, Any]) -> str:
    """Which key makes the model another than the recorded ones; empty where none does."""
    usual = _ACTIVATIONS.get(kind, _PLAIN)
    for key in _ACTIVATION_KEYS:
        if config.get(key) is not None and config[key] not in usual:
            return f"activation {config[key]} has no recorded rule"
    for key, value in _RECORDED_AS.get(kind, {}).items():
        if key in config and config[key] != value:
            return f"{key} {config[key]!r} has no recorded rule"
    return ""


def _dropout(kind: str, config: Mapping[str, Any], attention: str) -> bool | None:
    """Whether it is trained with dropout; None where some rates are zero and others are not."""
    rates = _DROPOUTS.get(kind, _Dropout({}, {"attention_dropout": 0.0}))
    residual = {bool(config.get(key, usual)) for key, usual in rates.residual.items()}
    own = {bool(config.get(key, usual)) for key, usual in rates.attention.items()}
    if attention != "eager":
        own = set()  # flash kernels keep the state of their random numbers instead of a mask
    if rates.both:
        residual |= own
    elif own == {True}:
        return None
    return None if len(residual) > 1 else residual == {True}


# ---- sizes and terms


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


def _terms(of: _Sizes, step: Step) -> dict[str, int]:
    """The terms of tests/oracle/record_activations.py."""
    t, q, kv = step.tokens * step.batch, of.heads * of.head_dim, of.kv_heads * of.head_dim
    alone = t * (step.batch == 1)
    single = alone * (of.kv_heads == 1 < of.heads)
    return {
        "t": t, "th": t * of.width, "tQ": t * q, "tK": t * kv, "tI": t * of.inner,
        "ta": t * of.heads, "tg": t * of.kv_heads, "tr": t * step.rank,
        "tas": t * of.heads * step.tokens, "tk": t * of.served, "tkh": t * of.served * of.width,
        "tkI": t * of.served * of.inner, "tE": t * of.experts, "tV": t * of.vocabulary,
        "th, b = 1": alone * of.width, "tQ, b = 1": alone * q, "tK, b = 1": alone * kv,
        "tQ, b = g = 1": single * q, "tK, b = g = 1": single * kv, "": 1, "h": of.width,
        "d": of.head_dim, "E": of.experts, "s": step.tokens, "sd": step.tokens * of.head_dim,
    }  # fmt: skip


def _sum(rule: Mapping[str, int], terms: Mapping[str, int]) -> int:
    return sum(number * terms[name] for name, number in rule.items())


def _formula(rule: Mapping[str, int]) -> str:
    """``16·t·h + 8·t``: t = s·b tokens of a step, Q and K the widths of queries and keys."""
    parts = []
    for name, number in rule.items():
        term, _, when = name.partition(", ")
        shown = "·".join((str(abs(number)), *term))
        sign = "-" if number < 0 else "+"
        parts.append(f"{sign} {shown}{f' (if {when})' if when else ''}")
    return " ".join(parts).removeprefix("+ ")


def _sizes(prediction: Prediction) -> _Sizes | None:
    """Sizes as the tree has them."""
    blocks, heads = decoder_blocks(prediction.root), attention_heads(prediction)
    if heads is None or not blocks:
        return None
    rows = _rows(blocks[0])
    out, columns = rows["output"]
    head_dim = columns // heads
    kv_heads = heads
    if "key" in rows:
        kv_heads = rows["key"][0] // head_dim
    elif "qkv" in rows:
        kv_heads = (rows["qkv"][0] - columns) // (2 * head_dim)
    served, experts, inner = _mixture(blocks[0], rows, out)
    tables = [spec for spec in prediction.specs[:8] if spec.kind == "token"]
    return _Sizes(
        out, heads, kv_heads, head_dim, inner, len(blocks),
        int(tables[0].shape[0]) if tables else 0, experts, served,
    )  # fmt: skip


def _mixture(
    block: Module, rows: Mapping[str, tuple[int, int]], width: int
) -> tuple[int, int, int]:  # fmt: skip
    """(k, n, inner width) of the experts, or (0, 0, inner width) of the feed-forward layer."""
    routed = [item for item in matrices(block) if item.kind == "expert" and item.active]
    if routed:
        served, experts = routed[0].active or (0, 0)
        shape = (routed[0].rows, routed[0].columns)
        return served, experts, shape[1] if shape[0] == width else shape[0]
    if "up" in rows:
        return 0, 0, rows["up"][0]
    return 0, 0, rows["gate_up"][0] // 2


def attention_heads(prediction: Prediction) -> int | None:
    """Attention heads, as the class read them; None where it did not."""
    _, found = prediction.read.get("num_attention_heads", ("", 0))
    return int(found) if isinstance(found, int) and found > 0 else None


def _rows(module: Module) -> dict[str, tuple[int, int]]:
    """(outputs, inputs) of a block's projections by kind."""
    found: dict[str, tuple[int, int]] = {}
    for child in module.children.values():
        if not isinstance(child, Module):
            continue
        weight = child.children.get("weight")
        if child.kind and isinstance(weight, Parameter) and len(weight.shape) == 2:
            rows, columns = map(int, weight.shape)
            turned = child.class_name == "Conv1D"
            found[child.kind] = (columns, rows) if turned else (rows, columns)
        else:
            found |= _rows(child)
    return found
