"""What a derivation has to say in words: positions, norms, MLPs, experts, the head, what is left
out of the count."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..core.components import Component, Role
from ..core.explanation import Remark
from ..core.text import first_of, with_rounded
from ..trees.modules import Module, each_module
from .count_tree import CountBranch, CountLeaf, NamedLeaf, Stack, leaves
from .ledger import Ledger
from .polynomials import Polynomial, number, total

#: Families whose positions need no tensor and show in no class name of the tree.
_WITHOUT_TENSORS = {
    **dict.fromkeys(("bloom",), "alibi"),
    **dict.fromkeys(("ctrl", "whisper_encoder"), "sinusoidal"),
    **dict.fromkeys(
        ("gptj", "codegen", "mixtral", "deepseek_v2", "deepseek_v3", "kimi_k2", "roformer"),
        "rotary",
    ),
}
#: Names of buffers that a remark lists.
MAX_BUFFERS = 8

_ROTARY_KEYS = tuple(
    """rope_theta rope_parameters rope_scaling rotary_dim rotary_pct partial_rotary_factor
    rotary_emb_base""".split()
)
_POSITION_TEXTS = {
    "rotary": "rotary positions turn queries and keys by angles: computed, 0 parameters",
    "alibi": "ALiBi adds a fixed slope per head to the scores: 0 parameters",
    "sinusoidal": "sinusoidal positions are computed: 0 parameters",
}

Leaves = list[NamedLeaf]


def notes_of(
    tree: CountBranch,
    root: Module,
    model_type: str | None,
    config: Mapping[str, Any],
    ledger: Ledger,
) -> tuple[Remark, ...]:
    """The remarks, in the order of a model."""
    all_leaves = list(leaves(tree))
    counted = [item for item in all_leaves if item[1].status == "counted"]
    return (
        *(
            Remark("positions", text)
            for text in _positions(counted, root, model_type, config, ledger)
        ),
        *(Remark("norms", text) for text in _norms(tree, ledger)),
        *(Remark("MLP", text) for text in _mlps(counted)),
        *(Remark("experts", text) for text in _experts(counted, ledger)),
        *(Remark("tied", text) for text in _tied(all_leaves, ledger)),
        *(Remark("not counted", text) for text in _left_out(all_leaves)),
    )


# ---- positions


def _positions(
    counted: Leaves, root: Module, model_type: str | None, config: Mapping[str, Any], ledger: Ledger
) -> Iterator[str]:
    learned = [item for item in counted if item[1].kind == "position"]
    relative = [item for item in counted if item[1].kind == "relative_position"]
    for name, leaf, times in learned:
        formula = ledger.rows_formula(leaf.count * times)
        yield f"learned: {name}, {formula.text} = {formula.value:,} parameters"
    if relative:
        number_of = sum(leaf.count.value * times.value for _, leaf, times in relative)
        yield f"relative, with learned tables in the attention: {number_of:,} parameters"
    kinds = _computed(root, model_type, config)
    for kind in kinds:
        yield _POSITION_TEXTS[kind]
    # Of an adapter alone, nothing says how its base model encodes positions.
    if model_type is not None and not (learned or relative or kinds):
        yield "no tensor holds positions"


def _computed(root: Module, model_type: str | None, config: Mapping[str, Any]) -> list[str]:
    names = {name.lower() for name in _class_names(root)}
    kinds = []
    text = config.get("text_config")
    sections = [config, text] if isinstance(text, Mapping) else [config]
    if any("rotary" in name for name in names) or any(
        section.get(key) is not None for section in sections for key in _ROTARY_KEYS
    ):
        kinds.append("rotary")
    if any("sinusoid" in name for name in names):
        kinds.append("sinusoidal")
    attention = config.get("attn_config")
    alibi = attention.get("alibi") if isinstance(attention, Mapping) else config.get("alibi")
    if alibi is True or config.get("position_embedding_type") == "alibi":
        kinds.append("alibi")
    by_family = _WITHOUT_TENSORS.get(model_type or "")
    if by_family and by_family not in kinds:
        kinds.append(by_family)
    return kinds


def _class_names(root: Module) -> set[str]:
    return {module.class_name for module in each_module(root)}


# ---- norms


def _norms(tree: CountBranch, ledger: Ledger) -> Iterator[str]:
    """``50 LayerNorms of gamma and beta, 2·H = 4,096 each: 204,800``."""
    groups: dict[tuple[str, Polynomial, bool], list[Polynomial]] = {}
    for branch, times in _norm_modules(tree, number(1)):
        own_leaves = [leaf for leaf in branch.children if isinstance(leaf, CountLeaf)]
        own_leaves = [leaf for leaf in own_leaves if leaf.status == "counted"]
        both = any(leaf.bias for leaf in own_leaves)
        # Folded siblings count as often as they occur.
        copies = max(leaf.copies for leaf in own_leaves)
        one = total(leaf.count for leaf in own_leaves)
        if one.value % copies == 0 and copies > 1:
            one = number(one.value // copies)
        groups.setdefault((branch.class_name, one, both), []).append(times.times(copies))
    for (class_name, one, both), counts in groups.items():
        many = total(counts).value
        what = "gamma and beta" if both else "gamma alone"
        each = ledger.rows_formula(one)
        shown = f"{each.text} = {one.value:,}" if each.text != str(one.value) else f"{one.value:,}"
        name = class_name if many == 1 else f"{class_name}s"
        yield f"{many:,} {name} of {what}, {shown} each: {many * one.value:,}"


def _norm_modules(
    node: CountBranch | Stack | CountLeaf, times: Polynomial
) -> Iterator[tuple[CountBranch, Polynomial]]:
    if isinstance(node, CountLeaf):
        return
    if isinstance(node, Stack):
        for kind in node.kinds:
            yield from _norm_modules(kind.layer, times * kind.times)
        return
    own_leaves = [leaf for leaf in node.children if isinstance(leaf, CountLeaf)]
    live = [leaf for leaf in own_leaves if leaf.status == "counted"]
    if live and all(leaf.component is Component.NORM for leaf in live):
        yield node, times
    for child in node.children:
        yield from _norm_modules(child, times)


# ---- MLPs and experts


def _mlps(counted: Leaves) -> Iterator[str]:
    kinds = {leaf.kind for _, leaf, _ in counted if leaf.component is Component.MLP}
    if "gate" in kinds or "gate_up" in kinds:
        one = " (gate and up are one tensor here)" if "gate_up" in kinds else ""
        yield f"gated: three matrices, down(act(gate(x)) × up(x)), where a plain MLP has two{one}"
    elif {"up", "down"} <= kinds:
        yield "plain: two matrices, down(act(up(x)))"


def _experts(counted: Leaves, ledger: Ledger) -> Iterator[str]:
    routed = [(leaf, times) for _, leaf, times in counted if leaf.active is not None]
    for k, n in dict.fromkeys(leaf.active for leaf, _ in routed if leaf.active is not None):
        mine = [(leaf, times) for leaf, times in routed if leaf.active == (k, n)]
        all_experts = sum(leaf.count.value * times.value for leaf, times in mine)
        active = all_experts * k // n
        each = _one_expert(mine, n)
        if each is not None:
            formula = ledger.rows_formula(each)
            yield f"one expert of a layer: {formula.text} = {formula.value:,}"
        yield (
            f"{k} of {n} experts are used per token: {with_rounded(all_experts)} parameters are in "
            f"experts, {with_rounded(active)} of them active"
        )
    shared = sum(
        leaf.count.value * times.value for _, leaf, times in counted if leaf.kind == "shared_expert"
    )
    if shared:
        yield f"shared experts are used for every token: {with_rounded(shared)}"


def _one_expert(routed: list[tuple[CountLeaf, Polynomial]], count: int) -> Polynomial | None:
    """The polynomial of one expert, where all layers with experts have the same ones."""
    if len({times for _, times in routed}) != 1:
        return None
    layer = total(leaf.count for leaf, _ in routed)
    factors = [dict(key) for key in layer.terms]
    for quantity in {q for key in factors for q in key if q.value == count}:
        if all(key.get(quantity, 0) > 0 for key in factors):
            return layer * Polynomial({((quantity, -1),): 1})
    return None


# ---- ties, and what is not counted


def _tied(all_leaves: Leaves, ledger: Ledger) -> Iterator[str]:
    for name, leaf, times in all_leaves:
        if leaf.status == "tied":
            formula = ledger.rows_formula(leaf.count * times)
            size = f"{formula.text} = {formula.value:,}"
            yield f"{name} is {leaf.tied_to}: its {size} are counted once"


def extra_name(name: str, leaf: CountLeaf) -> str:
    """What a parameter that transformers neither loads nor saves belongs to."""
    return "multi-token prediction" if leaf.part == "mtp" else leaf.kind or name


def _left_out(all_leaves: Leaves) -> Iterator[str]:
    saved = [i for i in all_leaves if i[1].status == "buffer"]
    if saved:
        elements = sum(leaf.count.value * times.value for _, leaf, times in saved)
        names = list(dict.fromkeys(name for name, _, _ in saved))
        listed = first_of(names, MAX_BUFFERS)
        yield f"buffers are not parameters: {elements:,} elements ({listed})"
    # Multi-token prediction has a line of its own, next to the total.
    unsaved = [
        i
        for i in all_leaves
        if i[1].status == "unsaved" and i[1].role is Role.PARAMETER and i[1].part != "mtp"
    ]
    if unsaved:
        elements = sum(leaf.count.value * times.value for _, leaf, times in unsaved)
        extra = dict.fromkeys(extra_name(name, leaf) for name, leaf, _ in unsaved)
        yield (
            f"files on the Hub may hold {with_rounded(elements)} parameters more that "
            f"this class does not load: {', '.join(extra)}"
        )
