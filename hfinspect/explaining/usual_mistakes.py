"""Sizes taken for one another, parts of attention and MLP forgotten, layers miscounted."""

from collections.abc import Iterator, Sequence

from ..core.components import Component
from .count_convention import Counting, in_layers, without
from .count_tree import NamedLeaf
from .derivation import Derivation
from .polynomials import Quantity, number, total, unknown

#: Vocabularies are padded to multiples of these, for the sake of matrix units.
_PADDING = (64, 128)


def mistaken_sizes(d: Derivation) -> Iterator[Counting]:
    tables = {
        kind: next((i for i in d.counted if i[1].kind == kind and not i[1].bias), None)
        for kind in ("token", "position", "segment")
    }
    token = tables["token"]
    if token is None:
        return
    vocab = _rows(token, ("vocab_size",))
    if vocab is None:
        return
    places = _rows(tables["position"], ("max_position_embeddings", "n_positions", "n_ctx"))
    types = _rows(tables["segment"], ("type_vocab_size",))
    others = [(tables["position"], places, "position"), (tables["segment"], types, "segment")]
    swapped = [(item, old, what) for item, old, what in others if item and old]
    if places is not None:
        yield _swap(
            "length-for-vocabulary",
            "sequence length in place of the vocabulary",
            [(token, vocab, places)],
        )
    for item, old, what in swapped:
        yield _swap(
            f"vocabulary-for-{what}s",
            f"the vocabulary in place of the {what}s",
            [(item, old, vocab)],
            2,
        )
    if len(swapped) > 1:
        yield _swap(
            "vocabulary-for-all-tables",
            "the vocabulary taken for all embedding tables",
            [(item, old, vocab) for item, old, _ in swapped],
        )
    yield from _vocabularies(d, token, vocab)


def _rows(item: NamedLeaf | None, keys: tuple[str, ...]) -> Quantity | None:
    """The quantity under one of the keys in a table's size."""
    if item is None:
        return None
    quantities = [q for q in item[1].count.quantities() if q.name.rsplit(".", 1)[-1] in keys]
    return quantities[0] if quantities else None


def _swap(
    name: str, text: str, changes: Sequence[tuple[NamedLeaf, Quantity, Quantity]], cost: int = 1
) -> Counting:
    parts = [
        times * (leaf.count.replaced(old, unknown(new)) - leaf.count)
        for (_, leaf, times), old, new in changes
    ]
    return Counting(name, text, total(parts), frozenset(item[0] for item, _, _ in changes), cost)


def _vocabularies(d: Derivation, token: NamedLeaf, vocab: Quantity) -> Iterator[Counting]:
    """A rounded or padded vocabulary, and a head of its own on it."""
    name, leaf, _ = token
    head = frozenset({"head"})
    tied = any(i[1].status == "tied" and i[1].component is Component.HEAD for i in d.all_leaves)
    for words in (vocab.value, *_round_numbers(vocab.value)):
        size = unknown(vocab) if words == vocab.value else number(words)
        table = leaf.count.replaced(vocab, size)
        shown = f"{words:,} words"
        if words != vocab.value:
            yield Counting(
                "other-vocabulary",
                f"embedding of {shown}",
                table - leaf.count,
                frozenset({name}),
                2,
            )
        if tied or d.prediction.architecture.endswith("Model"):
            cost = 1 if words == vocab.value else 2
            if words != vocab.value or not tied:
                yield Counting("own-head", f"an untied head on {shown}", table, head, cost)
            yield Counting(
                "own-head-with-bias",
                f"an untied head on {shown}, with bias",
                table + size,
                head,
                cost,
            )


def _round_numbers(value: int) -> list[int]:
    """What people say for 50,257: 50,000, 50,300; and 50,304 as padded."""
    powers = [10**digits for digits in range(len(str(value)) - 1, 1, -1)]
    candidates = [round(value / power) * power for power in powers]
    candidates += [-(-value // pad) * pad for pad in _PADDING]
    return [words for words in dict.fromkeys(candidates) if words and words != value]


# ---- attention, MLP, experts, layers


def attention_and_mlp(d: Derivation) -> Iterator[Counting]:
    for block in d.blocks:
        if block.heads and block.groups and block.heads.value != block.groups.value:
            changes = [
                (item, block.groups, block.heads)
                for item in d.counted
                if block.groups in set(item[1].count.quantities())
            ]
            yield _swap("no-groups", "keys and values as wide as queries", changes)
            break
    yield without(
        d,
        "no-output-projection",
        "attention output projections left out",
        lambda _, f: f.component is Component.ATTENTION and f.kind == "output",
        2,
    )
    yield without(
        d,
        "two-matrices",
        "gated MLPs counted with two matrices",
        lambda _, f: f.component is Component.MLP and f.kind == "gate" and not f.bias,
    )
    yield from _wide_mlps(d)
    yield without(d, "no-router", "routers left out", lambda _, f: f.component is Component.ROUTER)
    routed = [i for i in d.counted if i[1].active is not None]
    for served, name, text in (
        (None, "active-only", "with active experts alone"),
        (1, "one-expert", "if each layer had one expert"),
    ):
        delta = 0
        for active in {leaf.active for _, leaf, _ in routed}:
            k, n = active or (1, 1)
            all_experts = sum(f.count.value * t.value for _, f, t in routed if f.active == active)
            delta -= all_experts - all_experts * (served or k) // n
        yield Counting(name, text, number(delta), frozenset(n for n, _, _ in routed))


def _wide_mlps(d: Derivation) -> Iterator[Counting]:
    """4·H in place of another width."""
    for quantity in d.quantities:
        last = quantity.name.rsplit(".", 1)[-1]
        if last in ("intermediate_size", "ffn_dim", "d_ff") and d.hidden and quantity != d.inner:
            mine = [i for i in d.counted if quantity in set(i[1].count.quantities())]
            four = unknown(d.hidden).times(4)
            parts = [t * (f.count.replaced(quantity, four) - f.count) for _, f, t in mine]
            touched = frozenset(name for name, _, _ in mine)
            yield Counting("four-hidden", "MLPs of width 4·H", total(parts), touched)
            return


def layers(d: Derivation) -> Iterator[Counting]:
    inside = in_layers(d)
    if d.layers is None or not inside:
        return
    one = total(leaf.count for _, leaf, _ in inside)
    touched = frozenset(name for name, _, _ in inside)
    if d.layers.value > 1:
        yield Counting("a-layer-less", "one layer forgotten", one.times(-1), touched, 3)
    yield Counting("a-layer-more", "one layer too many", one, touched, 3)
