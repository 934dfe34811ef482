"""Of which configs the recordings of activation_rules.json are, and which rule a config has.

A model type is recorded as its class is by default. A key that changes what is computed (another
activation function, a norm elsewhere) has no rule unless its value is the recorded one.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from ..core.records import dataclass
from ..trees.prediction import Prediction

#: Classes whose forward pass was recorded, by what follows the model type's own name.
_HEADS: Final = tuple(
    "ForCausalLM LMHeadModel ForMaskedLM ForConditionalGeneration MarianMTModel".split()
)
#: Functions that keep their input alone; gelu_new is a formula of many steps, relu keeps its
#: output.
_PLAIN: Final = frozenset({"silu", "swish", "gelu", "gelu_pytorch_tanh"})
_RELU = frozenset({"relu"})
_GELU_NEW = frozenset({"gelu_new"})
_ACTIVATIONS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        **dict.fromkeys(("gpt2", "phi"), _GELU_NEW),
        **dict.fromkeys(("opt", "pegasus", "m2m_100"), _RELU),
    }
)
_ACTIVATION_KEYS: Final = ("hidden_act", "hidden_activation", "activation_function", "activation")
_T5: Final = ("t5", "mt5")
_BARTS: Final = tuple(
    "bart mbart pegasus marian blenderbot blenderbot-small m2m_100 plbart".split()
)


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
            ("bert", "roberta", "xlm-roberta", "camembert"),
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
        **dict.fromkeys(_T5, _Dropout({"dropout_rate": 0.1}, {})),
        **dict.fromkeys(_BARTS, _Dropout({"dropout": 0.1}, {"attention_dropout": 0.0})),
        "plbart": _Dropout({"dropout": 0.1}, {"attention_dropout": 0.1}),
    }
)
#: Keys that change what is computed, with the value that was recorded.
_RECORDED_AS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "stablelm": {
            "qk_layernorm": False,
            "use_parallel_residual": False,
            "partial_rotary_factor": 0.25,
        },
        "phi": {"qk_layernorm": False, "partial_rotary_factor": 0.5},
        "gpt_neox": {
            "use_parallel_residual": True,
            "rotary_pct": 0.25,
            "partial_rotary_factor": 0.25,
        },
        "bloom": {"apply_residual_connection_post_layernorm": False},
        "opt": {"do_layer_norm_before": True, "_remove_final_layer_norm": False},
        "gpt2": {"reorder_and_upcast_attn": False, "add_cross_attention": False},
        **{kind: {"is_decoder": False} for kind in ("bert", "roberta", "xlm-roberta", "camembert")},
        "cohere": {"use_qk_norm": False},
        "qwen3_moe": {"mlp_only_layers": [], "decoder_sparse_step": 1},
        "mixtral": {"router_jitter_noise": 0.0, "output_router_logits": False},
        "olmoe": {"clip_qkv": None, "output_router_logits": False},
        "gemma2": {"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0},
        "gemma3_text": {"attn_logit_softcapping": None, "final_logit_softcapping": None},
        **{kind: {"activation_dropout": 0.0} for kind in _BARTS},
    }
)


def rule_name(
    prediction: Prediction,
    config: Mapping[str, Any],
    attention: str,
    precision: str,
    known: Iterable[str],
) -> tuple[str, str]:
    """(the rule's name, why there is none): one of them is empty. ``known`` are all names."""
    kind = prediction.model_type or "unknown"
    names = set(known)
    recorded = sorted({name.split()[0] for name in names})
    if kind not in recorded or not prediction.architecture.endswith(_HEADS):
        return "", (
            f"no recorded rule covers the activations of {prediction.architecture} "
            f"(there are rules for language models of {len(recorded)} types)"
        )
    variant, reason = _variant(kind, config)
    reason = reason or _not_as_recorded(kind, config)
    if reason:
        return "", reason
    dropout = _dropout(kind, config, attention)
    if dropout is None:
        return "", "its rates of dropout are partly zero, which no recorded rule counts"
    name = f"{variant} {attention} {precision}{' dropout' if dropout else ''}"
    if name not in names:
        return "", f"no recorded rule covers the activations of {name}"
    return name, ""


def _variant(kind: str, config: Mapping[str, Any]) -> tuple[str, str]:
    """T5's feed-forward layers are of two sorts."""
    if kind not in _T5:
        return kind, ""
    projection = config.get("feed_forward_proj", "relu" if kind == "t5" else "gated-gelu")
    if projection == "gated-gelu":
        return ("t5-gated" if kind == "t5" else "mt5"), ""
    if projection == "relu" and kind == "t5":
        return "t5", ""
    return kind, f"feed_forward_proj {projection!r} has no recorded rule"


def _not_as_recorded(kind: str, config: Mapping[str, Any]) -> str:
    """Which key makes the model another than the recorded ones; empty where none does."""
    usual = _ACTIVATIONS.get(kind, _PLAIN)
    for key in _ACTIVATION_KEYS:
        if config.get(key) is not None and config[key] not in usual:
            return f"activation {config[key]} has no recorded rule"
    rotary = config.get("rope_parameters")
    values = {**rotary, **config} if isinstance(rotary, Mapping) else config
    for key, value in _RECORDED_AS.get(kind, {}).items():
        if key in values and values[key] != value:
            return f"{key} {values[key]!r} has no recorded rule"
    if kind in _BARTS:
        heads = [config.get(f"{side}_attention_heads") for side in ("encoder", "decoder")]
        if heads[0] != heads[1]:
            return "sides of different heads have no recorded rule"
    return ""


def _dropout(kind: str, config: Mapping[str, Any], attention: str) -> bool | None:
    """Whether it is trained with dropout; None where some rates are zero and others are not."""
    rates = _DROPOUTS.get(kind, _Dropout({}, {"attention_dropout": 0.0}))
    residual = {bool(config.get(key, usual)) for key, usual in rates.residual.items()}
    dropped = {bool(config.get(key, usual)) for key, usual in rates.attention.items()}
    if attention != "eager":
        dropped = set()  # flash kernels keep the state of their random numbers instead of a mask
    if rates.both:
        residual |= dropped
    elif dropped == {True}:
        return None
    return None if len(residual) > 1 else residual == {True}
