"""The usual ways in which a count by hand differs from the exact one, for one model.

Each is a polynomial to add, and the leaves that it touches: two conventions that touch the same
leaf contradict each other and are not combined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..core.components import Component, Role
from .explain import Derivation
from .explain_tree import Branch, Leaf, Stack, counted, counted_tree, leaves
from .formulas import Polynomial, Quantity, number, total, unknown

#: Vocabularies are padded to multiples of these, for the sake of matrix units.
_PADDING = (64, 128)

Item = tuple[str, Leaf, Polynomial]


@dataclass(frozen=True)
class Way:
    """``cost`` ranks ways: 1 is common, 2 a slip, 3 far-fetched."""

    name: str
    text: str
    delta: Polynomial
    touches: frozenset[str]
    cost: int = 1


def ways_of(d: Derivation) -> tuple[Way, ...]:
    """Every convention that changes this model's count. No two change the same tensors alike."""
    unique: dict[tuple[int, frozenset[str]], Way] = {}
    for source in (_left_out, _head, _norms, _added, _confused, _attention_and_mlp, _layers):
        for way in source(d):
            if way.delta.value:
                unique.setdefault((way.delta.value, way.touches), way)
    return tuple(unique.values())


def _without(
    d: Derivation, name: str, text: str, which: Callable[[str, Leaf], bool], cost: int = 1
) -> Way:
    items = [item for item in d.counted if which(item[0], item[1])]
    delta = total(leaf.count * times for _, leaf, times in items).times(-1)
    return Way(name, text, delta, frozenset(name for name, _, _ in items), cost)


# ---- parts left out


def _left_out(d: Derivation) -> Iterator[Way]:
    for kind, what in (("token", "token"), ("position", "position"), ("segment", "segment")):
        yield _without(
            d, f"no-{kind}-embeddings", f"{what} embeddings left out", _of_kind(kind)
        )  # fmt: skip
    yield _without(
        d, "no-embeddings", "embeddings left out", lambda _, f: f.component is Component.EMBEDDING
    )
    yield _without(
        d, "no-biases", "biases left out",
        lambda _, f: f.bias and f.component is not Component.NORM,
    )  # fmt: skip
    yield _without(d, "no-biases-at-all", "biases left out, those of norms too",
                   lambda _, f: f.bias)  # fmt: skip
    for component, what in ((Component.ATTENTION, "attention"), (Component.MLP, "MLP")):
        yield _without(d, f"no-{what.lower()}-biases", f"{what} biases left out",
                       _biases_of(component))  # fmt: skip
    yield _without(
        d, "no-relative-positions", "relative positions left out", _of_kind("relative_position")
    )


def _of_kind(kind: str) -> Callable[[str, Leaf], bool]:
    return lambda _, leaf: leaf.kind == kind and leaf.component is not Component.NORM


def _biases_of(component: Component) -> Callable[[str, Leaf], bool]:
    return lambda _, leaf: leaf.bias and leaf.component is component


# ---- heads


def _head(d: Derivation) -> Iterator[Way]:
    tied = [i for i in d.found if i[1].status == "tied" and i[1].component is Component.HEAD]
    for _, leaf, times in tied:
        if not leaf.bias:
            delta = leaf.count * times
            yield Way("head-apart", "the tied head counted separately", delta, frozenset({"head"}))
    for path, branch in _head_modules(d.tree, ""):
        names = {f"{path}{name}" for name, leaf, _ in leaves(branch) if leaf.status == "counted"}
        kinds = {leaf.kind for _, leaf, _ in leaves(branch)}
        what = "pooler" if "pooler" in kinds else "head"
        touched = frozenset(names | ({"head"} if "lm_head" in kinds else set()))
        yield Way(f"no-{what}", f"{what} left out ({path})", counted(branch).times(-1), touched)
    pooler = _pooler_of_base(d)
    if pooler is not None:
        yield Way("with-pooler", "the base model's pooler counted", pooler, frozenset({"pooler"}))


def _head_modules(branch: Branch, prefix: str) -> Iterator[tuple[str, Branch]]:
    """The outermost modules that hold nothing but heads and their norms."""
    for child in branch.children:
        if not isinstance(child, Branch):
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
    from ..core.config import ModelConfig

    family = d.prediction.family
    base = family.base if family else None
    has = any(leaf.kind == "pooler" for _, leaf, _ in d.counted)
    if family is None or base is None or has or base == d.prediction.architecture:
        return None
    tree = counted_tree(family.classes[base](ModelConfig(d.config)), d.config)
    found = [leaf.count for _, leaf, _ in leaves(tree) if leaf.kind == "pooler"]
    known = set(d.quantities)
    pooler = total(found)
    return pooler if found and set(pooler.quantities()) <= known else None


# ---- norms


def _norms(d: Derivation) -> Iterator[Way]:
    def is_norm(_: str, leaf: Leaf) -> bool:
        return leaf.component is Component.NORM

    inside = {name for name, _, _ in _in_layers(d)}
    modules = list(
        dict.fromkeys(
            name.rpartition(".")[0] for name, leaf, _ in d.counted if is_norm(name, leaf)
        )
    )
    of_layers = [m for m in modules if any(name.startswith(f"{m}.") for name in inside)]
    outside = [m for m in modules if m not in of_layers]
    yield _without(d, "no-norms", "norms left out", is_norm)
    yield _without(d, "no-norm-biases", "norms without beta", lambda n, f: is_norm(n, f) and f.bias)
    yield _without(
        d, "no-layer-norms", "the layers' norms left out",
        lambda n, f: is_norm(n, f) and n in inside, 2,
    )  # fmt: skip
    if len(of_layers) > 1:
        last = of_layers[-1]
        yield _without(
            d, "one-norm-a-layer", "the second norm of each layer forgotten",
            lambda n, _: n.rpartition(".")[0] == last, 2,
        )  # fmt: skip
    for module in outside:
        yield _without(
            d, "no-outer-norm", f"{module} forgotten",
            lambda n, _, module=module: n.rpartition(".")[0] == module, 2,  # type: ignore[misc]
        )  # fmt: skip


def _in_layers(d: Derivation) -> list[Item]:
    stacks = [f"{path}." for path, _ in _stack_paths(d.tree, "")]
    return [i for i in d.counted if any(i[0].startswith(stack) for stack in stacks)]


def _stack_paths(branch: Branch, prefix: str) -> Iterator[tuple[str, Stack]]:
    for child in branch.children:
        if isinstance(child, Stack):
            yield f"{prefix}{child.name}", child
        elif isinstance(child, Branch):
            yield from _stack_paths(child, f"{prefix}{child.name}.")


# ---- what is no parameter, or not in a fresh save


def _added(d: Derivation) -> Iterator[Way]:
    groups: dict[str, list[Item]] = {}
    for item in d.found:
        name, leaf, _ = item
        if leaf.role is Role.BUFFER:
            last = name.rpartition(".")[2]
            what = "causal masks" if last == "bias" else last
            groups.setdefault(f"{what} counted", []).append(item)
        elif leaf.status == "unsaved":
            what = "multi-token prediction" if leaf.kind == "mtp" else leaf.kind or "extras"
            groups.setdefault(f"{what} counted", []).append(item)
    for text, items in groups.items():
        delta = total(leaf.count * times for _, leaf, times in items)
        touched = frozenset(name for name, _, _ in items)
        yield Way(text.replace(" ", "-"), text, delta, touched)


# ---- one size for another


def _confused(d: Derivation) -> Iterator[Way]:
    tables = {
        kind: next((i for i in d.counted if i[1].kind == kind and not i[1].bias), None)
        for kind in ("token", "position", "segment")
    }
    token = tables["token"]
    if token is None:
        return
    vocab = _rows(token, ("vocab_size",), d)
    if vocab is None:
        return
    places = _rows(tables["position"], ("max_position_embeddings", "n_positions", "n_ctx"), d)
    types = _rows(tables["segment"], ("type_vocab_size",), d)
    others = [(tables["position"], places, "position"), (tables["segment"], types, "segment")]
    swapped = [(item, old, what) for item, old, what in others if item and old]
    if places is not None:
        yield _swap("length-for-vocabulary", "sequence length in place of the vocabulary",
                    [(token, vocab, places)])  # fmt: skip
    for item, old, what in swapped:
        yield _swap(f"vocabulary-for-{what}s", f"the vocabulary in place of the {what}s",
                    [(item, old, vocab)], 2)  # fmt: skip
    if len(swapped) > 1:
        yield _swap("vocabulary-for-all-tables", "the vocabulary taken for all embedding tables",
                    [(item, old, vocab) for item, old, _ in swapped])  # fmt: skip
    yield from _vocabularies(d, token, vocab)


def _rows(item: Item | None, keys: tuple[str, ...], d: Derivation) -> Quantity | None:
    """The quantity under one of the keys in a table's size."""
    if item is None:
        return None
    found = [q for q in item[1].count.quantities() if q.name.rsplit(".", 1)[-1] in keys]
    return found[0] if found else None


def _swap(
    name: str, text: str, changes: Sequence[tuple[Item, Quantity, Quantity]], cost: int = 1
) -> Way:
    parts = []
    for (_, leaf, times), old, new in changes:
        parts.append(times * (leaf.count.replaced(old, unknown(new)) - leaf.count))
    return Way(name, text, total(parts), frozenset(item[0] for item, _, _ in changes), cost)


def _vocabularies(d: Derivation, token: Item, vocab: Quantity) -> Iterator[Way]:
    """A rounded or padded vocabulary, and a head of its own on it."""
    name, leaf, times = token
    head = frozenset({"head"})
    tied = any(i[1].status == "tied" and i[1].component is Component.HEAD for i in d.found)
    for words in (vocab.value, *_round_numbers(vocab.value)):
        size = unknown(vocab) if words == vocab.value else number(words)
        table = leaf.count.replaced(vocab, size)
        shown = f"{words:,} words"
        if words != vocab.value:
            yield Way("other-vocabulary", f"embedding of {shown}", table - leaf.count,
                      frozenset({name}), 2)  # fmt: skip
        if tied or d.prediction.architecture.endswith("Model"):
            cost = 1 if words == vocab.value else 2
            if words != vocab.value or not tied:
                yield Way("own-head", f"an untied head on {shown}", table, head, cost)
            yield Way(
                "own-head-with-bias", f"an untied head on {shown}, with bias", table + size, head,
                cost,
            )  # fmt: skip


def _round_numbers(value: int) -> list[int]:
    """What people say for 50,257: 50,000, 50,300; and 50,304 as padded."""
    found = []
    for digits in range(len(str(value)) - 1, 1, -1):
        found.append(round(value / 10**digits) * 10**digits)
    found += [-(-value // pad) * pad for pad in _PADDING]
    return [words for words in dict.fromkeys(found) if words and words != value]


# ---- attention, MLP, experts, layers


def _attention_and_mlp(d: Derivation) -> Iterator[Way]:
    for block in d.blocks:
        if block.heads and block.groups and block.heads.value != block.groups.value:
            changes = [
                (item, block.groups, block.heads) for item in d.counted
                if block.groups in set(item[1].count.quantities())
            ]  # fmt: skip
            yield _swap("no-groups", "keys and values as wide as queries", changes)
            break
    yield _without(d, "no-output-projection", "attention output projections left out",
                   lambda _, f: f.component is Component.ATTENTION and f.kind == "output", 2)
    yield _without(d, "two-matrices", "gated MLPs counted with two matrices",
                   lambda _, f: f.component is Component.MLP and f.kind == "gate" and not f.bias)
    yield from _wide_mlps(d)
    yield _without(d, "no-router", "routers left out", lambda _, f: f.component is Component.ROUTER)
    routed = [i for i in d.counted if i[1].active is not None]
    for idle, name, text in (
        (lambda k, n: n - k, "active-only", "only active experts counted"),
        (lambda _, n: n - 1, "one-expert", "one expert counted"),
    ):
        delta = 0
        for active in {leaf.active for _, leaf, _ in routed}:
            k, n = active or (1, 1)
            whole = sum(f.count.value * t.value for _, f, t in routed if f.active == active)
            delta -= whole // n * idle(k, n)
        yield Way(name, text, number(delta), frozenset(n for n, _, _ in routed))


def _wide_mlps(d: Derivation) -> Iterator[Way]:
    """4·H in place of another width."""
    for quantity in d.quantities:
        last = quantity.name.rsplit(".", 1)[-1]
        if last in ("intermediate_size", "ffn_dim", "d_ff") and d.hidden and quantity != d.inner:
            mine = [i for i in d.counted if quantity in set(i[1].count.quantities())]
            four = unknown(d.hidden).times(4)
            parts = [t * (f.count.replaced(quantity, four) - f.count) for _, f, t in mine]
            touched = frozenset(name for name, _, _ in mine)
            yield Way("four-hidden", "MLPs of width 4·H", total(parts), touched)
            return


def _layers(d: Derivation) -> Iterator[Way]:
    inside = _in_layers(d)
    if d.layers is None or not inside:
        return
    one = total(leaf.count for _, leaf, _ in inside)
    touched = frozenset(name for name, _, _ in inside)
    if d.layers.value > 1:
        yield Way("a-layer-less", "one layer forgotten", one.times(-1), touched, 3)
    yield Way("a-layer-more", "one layer too many", one, touched, 3)
