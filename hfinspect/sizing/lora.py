"""LoRA: which matrices get an adapter, and how many parameters that is.

An adapter of rank r next to a matrix of ``in`` inputs and ``out`` outputs has r · (in + out)
parameters; next to a table of V rows of width h, r · (V + h). Default targets are those of peft
0.21.2, by model type; "all-linear" is every nn.Linear and Conv1D but the one to the vocabulary.

Experts are one tensor for all in transformers 5, and no nn.Linear. For the types of ``OLD_NAMES``
peft 0.21.2 (utils/transformers_weight_conversion.py) takes the names that experts and routers had
before: w1 and w3, or gate_proj and up_proj, are then the joined gate and up with twice the rank,
``gate`` is the router, and no other layer of these names has an adapter. For other types
"all-linear" leaves the experts out.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..core.components import Component
from ..core.records import dataclass
from ..core.training_bytes import AdaptedGroup
from ..errors import UsageError
from ..trees.prediction import Prediction
from . import peft_types
from .matrices import Matrix, matrices, named_modules, parameters_of, tables

ALL_LINEAR: Final = "all-linear"
#: Ranks beyond the width of any matrix mean a mistake.
MAX_RANK: Final = 65_536


def parse_targets(targets: str | Sequence[str] | None) -> tuple[str, ...]:
    """``"q_proj,v_proj"`` as names; nothing named is peft's default. Raises UsageError."""
    if targets is None:
        return ()
    names = targets.split(",") if isinstance(targets, str) else list(targets)
    parsed = tuple(name.strip() for name in names)
    if not parsed or not all(parsed):
        raise UsageError(f"targets {targets!r}", "are not names", expected="q_proj,v_proj")
    return parsed


@dataclass(frozen=True)
class Adapters:
    """What gets an adapter: the names that were given or are peft's default, the matrices, and
    which of the experts' joined matrices (``gate_up``, ``down``) and routers do."""

    names: tuple[str, ...]
    linear: tuple[Matrix, ...]
    tables: tuple[Matrix, ...] = ()
    routers: tuple[Matrix, ...] = ()
    gate_up: tuple[Matrix, ...] = ()
    down: tuple[Matrix, ...] = ()

    def groups(self, rank: int) -> tuple[AdaptedGroup, ...]:
        plain = _grouped((*self.linear, *self.routers, *self.tables), rank)
        return (*plain, *_of_experts(self.gate_up, self.down, rank))


def find_adapters(prediction: Prediction, targets: tuple[str, ...]) -> Adapters:
    """What gets an adapter at these targets, peft's default where there are none.

    Raises UsageError for a model type without a default, a name that no matrix has, and targets
    that are experts of a type whose old names peft does not take.
    """
    kind = prediction.model_type or prediction.architecture
    names = targets or peft_types.DEFAULT_TARGETS.get(kind, ())
    if not names:
        raise UsageError(
            f"adapters of {kind}",
            "have no default targets in peft 0.21.2",
            hint="name the targets: 'all-linear', or 'q_proj,v_proj'",
        )
    if kind in peft_types.RENAMED:
        raise UsageError(
            f"adapters of {prediction.architecture}",
            "are not counted",
            hint="its layers have other names in transformers than in files",
        )
    every = list(matrices(prediction.root))
    old = peft_types.OLD_NAMES.get(kind) if any(map(_routed, every)) else None
    if names == (ALL_LINEAR,):
        adapters = _all_linear(every, kind, old)
    else:
        adapters = _named(every, names, prediction, old, strict=bool(targets))
    refused = [item for item in adapters.linear if item.name in peft_types.NOT_IN_MAMBAS]
    if kind in peft_types.MAMBAS and refused:
        raise UsageError(
            f"target {refused[0].name!r}", f"is a layer of {kind} that PEFT has no adapters for"
        )
    return adapters


def _named(
    every: Sequence[Matrix],
    names: tuple[str, ...],
    prediction: Prediction,
    old: Sequence[str] | None,
    *,
    strict: bool,
) -> Adapters:
    """The layers and tables of these names; experts by the names that they had before."""
    chosen = [name for name in names if old and name in old]
    plain = [name for name in names if name not in chosen]
    linear = tuple(
        item
        for item in every
        if (item.linear or _expert(item)) and any(_matches(item, name) for name in plain)
    )
    rows = tuple(
        item for item in tables(prediction.root) if any(_matches(item, name) for name in plain)
    )
    _check_named(plain if strict else [], (*linear, *rows), every)
    separate = prediction.model_type in peft_types.SEPARATE_EXPERTS
    if not separate:
        _refuse_experts(linear, prediction)
    adapters = _at_old_names(every, chosen, old, names) if old and chosen else Adapters(names, ())
    return replace(adapters, linear=linear, tables=rows)


def _check_named(names: Sequence[str], linears: Sequence[Matrix], every: Sequence[Matrix]) -> None:
    """peft passes over default names that a model lacks, and refuses others."""
    for name in names:
        if not any(_matches(item, name) for item in linears):
            known = sorted({item.name for item in every if item.linear and not _expert(item)})
            raise UsageError(
                f"target {name!r}",
                "is not a linear layer of this model",
                expected=f"one of {', '.join(known)}, or {ALL_LINEAR}",
            )


def _all_linear(every: Sequence[Matrix], kind: str, old: Sequence[str] | None) -> Adapters:
    """What "all-linear" makes of a model; ``old`` are the names of its experts that peft takes."""
    names = (ALL_LINEAR,)
    if kind in peft_types.NOT_ALL_LINEAR:
        raise UsageError(
            f"all-linear of model type {kind}", "is not counted", hint="name the targets: 'q_proj'"
        )
    linear = tuple(
        item
        for item in every
        if item.kind != "lm_head" and _is_linear(item, kind) and item.name not in (old or ())
    )
    if not linear and old is None:
        raise UsageError(f"adapters of {kind}", "find no linear layer")
    return replace(
        _at_old_names(every, old, old, names) if old else Adapters(names, ()), linear=linear
    )


def _is_linear(item: Matrix, kind: str) -> bool:
    """Whether it is an nn.Linear in transformers too."""
    if _routed(item):
        return item.linear and kind in peft_types.SEPARATE_EXPERTS
    if item.component is Component.ROUTER:
        is_linear = item.linear or kind in peft_types.LINEAR_ROUTERS
        return is_linear and kind not in peft_types.FILE_ROUTERS
    return item.linear


def _at_old_names(
    every: Sequence[Matrix], chosen: Sequence[str], old: Sequence[str], names: tuple[str, ...]
) -> Adapters:
    """Experts and routers by the names that they had before. Raises UsageError for one half of the
    joined gate and up."""
    gate, up, down, router = old
    joined = {gate, up} & set(chosen)
    if len(joined) == 1:
        raise UsageError(
            f"target {joined.pop()!r}",
            "is one half of the experts' joined gate and up",
            expected=f"{gate} and {up} together, as PEFT requires",
        )
    experts = [item for item in every if _routed(item)]
    back = tuple(item for item in experts if item.name in _BACK)
    inward = tuple(item for item in experts if item.name not in _BACK)
    routers = tuple(
        item
        for item in every
        if item.component is Component.ROUTER and item.plain and item.name == router
    )
    return Adapters(
        names,
        (),
        (),
        routers if router in chosen else (),
        inward if joined else (),
        back if down in chosen else (),
    )


#: Names of experts' matrices back to the residual stream.
_BACK: Final = ("down_proj", "w2")


def _of_experts(
    inward: Sequence[Matrix], back: Sequence[Matrix], rank: int
) -> tuple[AdaptedGroup, ...]:
    """Gate and up are joined and get twice the rank, counted as twice the matrices."""
    groups = []
    if inward:
        joined = sum(item.times for item in inward)  # two for each expert, as is the rank
        if any(item.name == "gate_up_proj" for item in inward):
            joined *= 2
            rows = inward[0].rows
            columns = inward[0].columns
        else:
            rows = 2 * inward[0].rows
            columns = inward[0].columns
        count = joined * rank * (rows + columns)
        groups.append(AdaptedGroup("gate_up_proj", joined, rows, columns, count))
    if back:
        rows = back[0].rows
        columns = back[0].columns
        times = sum(item.times for item in back)
        count = times * rank * (rows + columns)
        groups.append(AdaptedGroup("down_proj", times, rows, columns, count))
    return tuple(groups)


def _refuse_experts(chosen: Sequence[Matrix], prediction: Prediction) -> None:
    experts = [item.path for item in chosen if _expert(item)]
    if experts:
        raise UsageError(
            f"target {experts[0]}",
            "is an expert: one tensor for all experts in transformers, not a linear layer",
            hint=f"name projections outside the experts of {prediction.architecture}, as q_proj",
        )


def _routed(item: Matrix) -> bool:
    """Whether it is of experts that are chosen; shared ones are ordinary linear layers."""
    return item.kind == "expert" or item.active is not None


def _expert(item: Matrix) -> bool:
    router = item.component is Component.ROUTER and not item.linear
    return _routed(item) or router


def _matches(item: Matrix, name: str) -> bool:
    return item.path == name or item.path.endswith(f".{name}")


def _grouped(chosen: Sequence[Matrix], rank: int) -> tuple[AdaptedGroup, ...]:
    counts: dict[tuple[str, int, int], int] = {}
    for item in chosen:
        key = (item.name, item.rows, item.columns)
        counts[key] = counts.get(key, 0) + item.times
    return tuple(
        AdaptedGroup(name, count, rows, columns, count * rank * (rows + columns))
        for (name, rows, columns), count in counts.items()
    )


# ---- modules that are trained whole


def saved_whole(prediction: Prediction, names: Sequence[str]) -> dict[str, int]:
    """Parameters of the copies that peft makes of ``modules_to_save``, by path.

    Raises UsageError for a name that no module's path ends with.
    """
    saved: dict[str, int] = {}
    for path, module in named_modules(prediction.root):
        inside = any(path.startswith(f"{path_saved}.") for path_saved in saved)
        if not inside and any(path.endswith(name) for name in names):
            saved[path] = parameters_of(module)
    for name in names:
        if not any(path.endswith(name) for path in saved):
            raise UsageError(
                f"module {name!r}",
                "is not a module of this model",
                expected="the end of a module's path, as lm_head or embed_tokens",
            )
    return saved
