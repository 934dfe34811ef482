"""LoRA: which matrices get an adapter, and how many parameters that is.

An adapter of rank r next to a matrix of ``in`` inputs and ``out`` outputs has r · (in + out)
parameters. Default targets are those of peft 0.21.2, by model type; "all-linear" is every nn.Linear
and Conv1D but the one to the vocabulary. Experts that files hold one by one are one tensor for all
in transformers 5; "all-linear" of peft 0.21.2 then adapts that tensor (the joined gate and up with
twice the rank), the router, and no other layer of the experts' names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..core.components import Component
from ..core.training_bytes import AdaptedGroup
from ..errors import UsageError
from ..trees.prediction import Prediction
from .matrices import Matrix, matrices

ALL_LINEAR: Final = "all-linear"
#: Ranks beyond the width of any matrix mean a mistake.
MAX_RANK: Final = 65_536

#: Types whose files hold all experts in one tensor, which "all-linear" was recorded to leave out.
_LEAVES_EXPERTS: Final = frozenset({"gpt_oss"})
_QV: Final = ("q_proj", "v_proj")
_BERT: Final = ("query", "value")
#: Model type -> names, where peft 0.21.2 has a default.
DEFAULT_TARGETS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("bart", "opt", "gptj", "gpt_neo", "llama", "llama4", "mistral", "mixtral", "stablelm",
         "gemma", "gemma2", "gemma3_text", "qwen2", "qwen3"), _QV,
    ),
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "electra", "layoutlm"), _BERT),
    **dict.fromkeys(("t5", "mt5"), ("q", "v")),
    **dict.fromkeys(("bloom", "gpt_neox", "falcon", "chatglm"), ("query_key_value",)),
    **dict.fromkeys(("gpt2", "gpt_bigcode"), ("c_attn",)),
    "blip-2": ("q", "v", "q_proj", "v_proj"),
    "deberta": ("in_proj",),
    "deberta-v2": ("query_proj", "value_proj"),
    "mpt": ("Wqkv",),
    "codegen": ("qkv_proj",),
    "phi": ("q_proj", "v_proj", "fc1", "fc2"),
    "nemotron_h": ("q_proj", "k_proj", "v_proj", "o_proj"),
    "rwkv": ("key", "value", "receptance", "output"),
}  # fmt: skip


def parse_targets(targets: str | Sequence[str] | None) -> tuple[str, ...]:
    """``"q_proj,v_proj"`` as names; nothing named is peft's default. Raises UsageError."""
    if targets is None:
        return ()
    names = targets.split(",") if isinstance(targets, str) else list(targets)
    found = tuple(name.strip() for name in names)
    if not found or not all(found):
        raise UsageError(f"targets {targets!r}", "are not names", expected="q_proj,v_proj")
    return found


def adapted(
    prediction: Prediction, rank: int, targets: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[AdaptedGroup, ...]]:
    """The targets (peft's default where none are given) and the adapters that they make.

    Raises UsageError for a model type without a default, a name that no matrix has, and targets
    that are experts: those are one tensor for all experts in transformers, no nn.Linear.
    """
    names = targets or DEFAULT_TARGETS.get(prediction.model_type or "", ())
    if not names:
        raise UsageError(
            f"peft's default targets for model type {prediction.model_type}", "are not known",
            hint="name the targets: 'q_proj,v_proj' or 'all-linear'",
        )  # fmt: skip
    everything = names == (ALL_LINEAR,)
    if everything and any(item.kind == "expert" for item in matrices(prediction.root)):
        return names, _with_experts(prediction, rank)
    found = [item for item in matrices(prediction.root) if item.plain or item.linear]
    chosen = [item for item in found if _is_target(item, names, everything)]
    strict = targets and not everything  # peft passes over default names that a model lacks
    for name in names if strict else ():
        if not any(_matches(item, name) for item in chosen):
            known = sorted({item.name for item in found if item.linear and not _expert(item)})
            raise UsageError(
                f"target {name!r}", "is no linear layer of this model",
                expected=f"one of {', '.join(known)}, or {ALL_LINEAR}",
            )  # fmt: skip
    _refuse_experts(chosen, prediction)
    return names, _grouped(chosen, rank)


def _with_experts(prediction: Prediction, rank: int) -> tuple[AdaptedGroup, ...]:
    """What "all-linear" makes of a mixture of experts."""
    found = list(matrices(prediction.root))
    experts = [item for item in found if item.kind == "expert"]
    one_by_one = all(item.linear for item in experts)
    if not one_by_one and prediction.model_type not in _LEAVES_EXPERTS:
        _refuse_experts(experts, prediction)
    taken = {item.name for item in experts} if one_by_one else set()
    plain = [
        item
        for item in found
        if item.linear and not _expert(item) and item.kind != "lm_head" and item.name not in taken
    ]
    if not one_by_one:
        return _grouped(plain, rank)
    routers = [item for item in found if item.component is Component.ROUTER and item.plain]
    return (*_grouped([*plain, *routers], rank), *_of_experts(experts, rank))


def _of_experts(experts: Sequence[Matrix], rank: int) -> tuple[AdaptedGroup, ...]:
    """Gate and up are joined and get twice the rank, counted as twice the matrices."""
    inward = [item for item in experts if item.name not in ("down_proj", "w2")]
    back = [item for item in experts if item.name in ("down_proj", "w2")]
    joined = sum(item.times for item in inward)  # two for each expert, as is the rank
    rows, columns = 2 * inward[0].rows, inward[0].columns
    each = rank * (back[0].rows + back[0].columns)
    count = sum(item.times for item in back)
    return (
        AdaptedGroup("gate_up_proj", joined, rows, columns, joined * rank * (rows + columns)),
        AdaptedGroup("down_proj", count, back[0].rows, back[0].columns, count * each),
    )


def _refuse_experts(chosen: Sequence[Matrix], prediction: Prediction) -> None:
    experts = [item.path for item in chosen if _expert(item)]
    if experts:
        raise UsageError(
            f"target {experts[0]}",
            "is an expert: one tensor for all experts in transformers, no linear layer",
            hint=f"name projections outside the experts of {prediction.architecture}, as q_proj",
        )


def _expert(item: Matrix) -> bool:
    # Shared experts are ordinary linear layers; routed ones and their router are not.
    routed = item.kind == "expert" or item.component is Component.ROUTER
    return routed or item.active is not None or item.times > 1


def _is_target(item: Matrix, names: Sequence[str], everything: bool) -> bool:
    if everything:
        return (item.linear or _expert(item)) and item.kind != "lm_head"
    return any(_matches(item, name) for name in names) and (item.linear or _expert(item))


def _matches(item: Matrix, name: str) -> bool:
    return item.path == name or item.path.endswith(f".{name}")


def _grouped(chosen: Sequence[Matrix], rank: int) -> tuple[AdaptedGroup, ...]:
    counts: dict[tuple[str, int, int], int] = {}
    for item in chosen:
        key = (item.name, item.rows, item.columns)
        counts[key] = counts.get(key, 0) + 1
    return tuple(
        AdaptedGroup(name, count, rows, columns, count * rank * (rows + columns))
        for (name, rows, columns), count in counts.items()
    )
