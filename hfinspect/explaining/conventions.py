"""The usual ways in which a count by hand differs from the exact one, for one model.

Each is a polynomial to add, and the leaves that it touches: two conventions that touch the same
leaf contradict each other and are not combined.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from ..core.alternative_counts import Candidate
from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..errors import HfinspectError
from .count_convention import Counting, in_layers, without
from .count_tree import CountBranch, CountLeaf, NamedLeaf, counted, counted_tree, leaves
from .derivation import Derivation
from .notes import extra_name
from .polynomials import Polynomial, total
from .usual_mistakes import attention_and_mlp, layers, mistaken_sizes

#: More norms outside the layers than this (convolutional nets) are no list to choose from.
MAX_OUTER_NORMS = 8
#: Modules of another class that are named; of more its name says enough.
MAX_NAMED = 3


def conventions_of(d: Derivation) -> tuple[Counting, ...]:
    """Every convention that changes this model's count. No two change the same tensors alike."""
    unique: dict[tuple[int, frozenset[str]], Counting] = {}
    for source in _SOURCES:
        for one in source(d):
            if one.delta.exact and one.delta.exact.denominator == 1:
                unique.setdefault((one.delta.value, one.touches), one)
    return tuple(unique.values())


# ---- parts left out


def _left_out(d: Derivation) -> Iterator[Counting]:
    for kind, what in (("token", "token"), ("position", "position"), ("segment", "segment")):
        yield without(d, f"no-{kind}-embeddings", f"{what} embeddings left out", _of_kind(kind))
    yield without(
        d, "no-embeddings", "embeddings left out", lambda _, f: f.component is Component.EMBEDDING
    )
    yield without(
        d, "no-biases", "biases left out", lambda _, f: f.bias and f.component is not Component.NORM
    )
    yield without(d, "no-biases-at-all", "biases left out, those of norms too", lambda _, f: f.bias)
    for component, what in ((Component.ATTENTION, "attention"), (Component.MLP, "MLP")):
        yield without(
            d, f"no-{what.lower()}-biases", f"{what} biases left out", _biases_of(component)
        )
    yield without(
        d, "no-relative-positions", "relative positions left out", _of_kind("relative_position")
    )


def _of_kind(kind: str) -> Callable[[str, CountLeaf], bool]:
    return lambda _, leaf: leaf.kind == kind and leaf.component is not Component.NORM


def _biases_of(component: Component) -> Callable[[str, CountLeaf], bool]:
    return lambda _, leaf: leaf.bias and leaf.component is component


# ---- heads


def _head(d: Derivation) -> Iterator[Counting]:
    tied = [i for i in d.all_leaves if i[1].status == "tied" and i[1].component is Component.HEAD]
    for _, leaf, times in tied:
        if not leaf.bias:
            delta = leaf.count * times
            yield Counting(
                "head-apart", "the tied head counted separately", delta, frozenset({"head"})
            )
    for path, branch in _head_modules(d.tree, ""):
        names = {f"{path}{name}" for name, leaf, _ in leaves(branch) if leaf.status == "counted"}
        kinds = {leaf.kind for _, leaf, _ in leaves(branch)}
        what = "pooler" if "pooler" in kinds else "head"
        touched = frozenset(names | ({"head"} if "lm_head" in kinds else set()))
        yield Counting(
            f"no-{what}", f"{what} left out ({path})", counted(branch).times(-1), touched
        )
    pooler = _pooler_of_base(d)
    if pooler is not None:
        yield Counting(
            "with-pooler", "the base model's pooler counted", pooler, frozenset({"pooler"})
        )


def _siblings(d: Derivation) -> Iterator[Counting]:
    """The count of another class of the family, which has other heads: the pooler and the
    next-sentence head of BertForPreTraining."""
    family = d.prediction.family
    known = set(d.quantities)
    heads = frozenset({"head", "pooler"}) | {
        name for name, leaf, _ in d.counted if leaf.component is Component.HEAD
    }
    for name in family.classes if family is not None else ():
        if family is None or name == d.prediction.architecture:
            continue
        try:
            tree = counted_tree(family.classes[name](ModelConfig(d.config)), d.config)
        except HfinspectError:  # the config lacks what that class needs
            continue
        count = counted(tree)
        if set(count.quantities()) <= known and _shares_most(d, tree):
            delta = count + d.polynomial.times(-1)
            yield Counting(f"counted-as-{name}", f"counted as {name}{_more(d, tree)}", delta, heads)


def _more(d: Derivation, other: CountBranch) -> str:
    """``, with bert.pooler.dense and cls.seq_relationship``: what another class has in addition."""
    mine = {name for name, _, _ in d.counted}
    theirs = [name for name, leaf, _ in leaves(other) if leaf.status == "counted"]
    modules = list(dict.fromkeys(n.rpartition(".")[0] for n in theirs if n not in mine))
    few = mine < {*theirs} and len(modules) <= MAX_NAMED
    return f", with {' and '.join(modules)}" if few else ""


def _shares_most(d: Derivation, other: CountBranch) -> bool:
    """Whether another class differs in heads alone, poolers included."""

    def body(items: Iterable[NamedLeaf]) -> int:
        parts = [(leaf, times) for _, leaf, times in items if leaf.status == "counted"]
        apart = (Component.HEAD, Component.NORM)
        return sum((f.count * t).value for f, t in parts if f.component not in apart)

    return body(leaves(other)) == body(d.counted)


def _head_modules(branch: CountBranch, prefix: str) -> Iterator[tuple[str, CountBranch]]:
    """The outermost modules that hold nothing but heads and their norms."""
    for child in branch.children:
        if not isinstance(child, CountBranch):
            continue
        path = f"{prefix}{child.name}"
        inside = [leaf for _, leaf, _ in leaves(child) if leaf.status == "counted"]
        parts = {leaf.component for leaf in inside}
        if Component.HEAD in parts and parts <= {Component.HEAD, Component.NORM}:
            yield path, child
        else:
            yield from _head_modules(child, f"{path}.")


def _pooler_of_base(d: Derivation) -> Polynomial | None:
    """The pooler that the family's base model has and this class has not."""
    family = d.prediction.family
    base = family.base if family else None
    has = any(leaf.kind == "pooler" for _, leaf, _ in d.counted)
    if family is None or base is None or has or base == d.prediction.architecture:
        return None
    if base not in family.classes:  # its name is known, its modules are not
        return None
    tree = counted_tree(family.classes[base](ModelConfig(d.config)), d.config)
    counts = [leaf.count for _, leaf, _ in leaves(tree) if leaf.kind == "pooler"]
    known = set(d.quantities)
    pooler = total(counts)
    return pooler if counts and set(pooler.quantities()) <= known else None


# ---- norms


def _norms(d: Derivation) -> Iterator[Counting]:
    def is_norm(_: str, leaf: CountLeaf) -> bool:
        return leaf.component is Component.NORM

    inside = {name for name, _, _ in in_layers(d)}
    modules = list(
        dict.fromkeys(name.rpartition(".")[0] for name, leaf, _ in d.counted if is_norm(name, leaf))
    )
    with_norms = {name.rpartition(".")[0] for name in inside}
    of_layers = [module for module in modules if module in with_norms]
    outside = [module for module in modules if module not in with_norms]
    yield without(d, "no-norms", "norms left out", is_norm)
    yield without(d, "no-norm-biases", "norms without beta", lambda n, f: is_norm(n, f) and f.bias)
    yield without(
        d,
        "no-layer-norms",
        "the layers' norms left out",
        lambda n, f: is_norm(n, f) and n in inside,
        2,
    )
    if len(of_layers) > 1 and d.layers is not None:
        last = of_layers[-1]
        yield without(
            d,
            "one-norm-a-layer",
            "the second norm of each layer forgotten",
            lambda n, _: n.rpartition(".")[0] == last,
            2,
        )
    for module in outside[:MAX_OUTER_NORMS]:
        yield without(
            d,
            "no-outer-norm",
            f"{module} forgotten",
            lambda n, _, module=module: n.rpartition(".")[0] == module,  # type: ignore[misc]
            2,
        )


# ---- what is no parameter, or not in a fresh save


def _added(d: Derivation) -> Iterator[Counting]:
    groups: dict[str, list[NamedLeaf]] = {}
    for item in d.all_leaves:
        name, leaf, _ = item
        if leaf.role is Role.BUFFER:
            last = name.rpartition(".")[2]
            what = "causal masks" if last == "bias" else last
            groups.setdefault(f"{what} counted", []).append(item)
        elif leaf.status == "unsaved":
            groups.setdefault(f"{extra_name(name, leaf)} counted", []).append(item)
    for text, items in groups.items():
        delta = total(leaf.count * times for _, leaf, times in items)
        touched = frozenset(name for name, _, _ in items)
        yield Counting(text.replace(" ", "-"), text, delta, touched)


# ---- the same model by single conventions: what people mean when they name a size

#: Names of single conventions that make a count of their own.
_USUAL = ("head-apart", "no-embeddings", "no-biases", "no-norms", "active-only", "one-expert")


def counts_of(d: Derivation) -> tuple[Candidate, ...]:
    """The exact count first, then others in the order in which names of models use them."""
    exact = d.polynomial.value
    every = conventions_of(d)
    by_name = {one.name: one for one in reversed(every)}
    candidates = [Candidate("every parameter once", exact)]
    candidates += [_candidate(by_name["head-apart"], exact)] if "head-apart" in by_name else []
    candidates += _base_model(d, every, by_name.get("with-pooler"))
    candidates += [_candidate(by_name[name], exact) for name in _USUAL[1:] if name in by_name]
    return tuple(candidates)


def _candidate(one: Counting, exact: int) -> Candidate:
    return Candidate(one.text, exact + one.delta.value)


def _base_model(
    d: Derivation, conventions: Sequence[Counting], pooler: Counting | None
) -> list[Candidate]:
    """Without the heads, and with the pooler where the family's base model has one."""
    heads = [one.delta.value for one in conventions if one.name == "no-head"]
    poolers = [one.delta.value for one in conventions if one.name == "no-pooler"]
    base = d.polynomial.value + sum(heads)
    candidates = []
    if poolers or heads:
        what = " and ".join(name for name, some in (("head", heads), ("pooler", poolers)) if some)
        candidates.append(Candidate(f"without {what}", base + sum(poolers)))
    if poolers and heads:
        candidates.append(Candidate("the base model with its pooler", base))
    if pooler is not None:
        with_pooler = base + pooler.delta.value
        candidates.append(Candidate("the base model with its pooler", with_pooler))
    return candidates


#: Where conventions come from, the usual first: of two that change a count alike it is the one.
_SOURCES: Final[tuple[Callable[[Derivation], Iterable[Counting]], ...]] = (
    _left_out,
    _head,
    _norms,
    _added,
    mistaken_sizes,
    attention_and_mlp,
    layers,
    _siblings,
)
