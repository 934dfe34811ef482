"""The derivation of a parameter count, from the tree that predicts the tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..architectures.prediction import Prediction
from ..core.components import Component
from ..core.explanation import Approximation, Candidate, Explanation, Letter, Measurement, Promise
from ..core.formula import Formula
from ..core.results import Inspection
from .explain_attention import Block, blocks_of, described, hidden_of
from .explain_ledger import MAX_PRINTED_TERMS, Ledger, sections_of, shares_of
from .explain_letters import assign
from .explain_measured import measured
from .explain_notes import notes_of
from .explain_promise import promises_of
from .explain_tree import Branch, Leaf, Stack, counted, counted_tree, leaves
from .formulas import Polynomial, Quantity, Writer, number, total, unknown

_INNER = ("intermediate_size", "ffn_dim", "n_inner", "d_ff", "ffn_hidden_size")


@dataclass(frozen=True)
class Derivation:
    """A model's tree of counts with its letters: what every part of an explanation is made of."""

    prediction: Prediction
    config: Mapping[str, Any]

    @cached_property
    def tree(self) -> Branch:
        return counted_tree(self.prediction.root, self.config)

    @cached_property
    def found(self) -> tuple[tuple[str, Leaf, Polynomial], ...]:
        return tuple(leaves(self.tree))

    @cached_property
    def counted(self) -> tuple[tuple[str, Leaf, Polynomial], ...]:
        return tuple(item for item in self.found if item[1].status == "counted")

    @cached_property
    def polynomial(self) -> Polynomial:
        """The whole count."""
        return counted(self.tree)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return blocks_of(self.tree, self.config)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Every unknown that a formula shows, in model order."""
        seen: dict[Quantity, None] = {}

        def see(quantity: Quantity) -> None:
            for inner in quantity.quotient or ():
                see(inner)
            seen.setdefault(quantity)

        for _, leaf, times in self.found:
            for quantity in (*leaf.count.quantities(), *times.quantities()):
                see(quantity)
        for block in self.blocks:
            for quantity in block.quantities():
                see(quantity)
        return tuple(seen)

    @cached_property
    def hidden(self) -> Quantity | None:
        return hidden_of(self.quantities)

    @cached_property
    def layers(self) -> Polynomial | None:
        """How many layers, where the model is one stack of equal ones."""
        stacks = list(_stacks(self.tree))
        kinds = stacks[0].kinds if len(stacks) == 1 else ()
        return kinds[0].times if len(kinds) == 1 else None

    @cached_property
    def depth(self) -> int | None:
        """Layers of the one stack, whatever their kinds; None for several stacks or none."""
        stacks = list(_stacks(self.tree))
        return sum(k.times.value for k in stacks[0].kinds) if len(stacks) == 1 else None

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger(Writer(assign(self.quantities)), self.hidden)

    @cached_property
    def inner(self) -> Quantity | None:
        """The MLP's width where it is four times the hidden size."""
        for quantity in self.quantities:
            known = quantity.name.rsplit(".", 1)[-1] in _INNER
            if known and self.hidden and quantity.value == 4 * self.hidden.value:
                return quantity
        return None

    def closed(self, polynomial: Polynomial) -> Polynomial:
        """With 4·H for I where that is its value."""
        if self.inner is None or self.hidden is None:
            return polynomial
        return polynomial.replaced(self.inner, unknown(self.hidden).times(4))

    def part(self, component: Component) -> Polynomial:
        mine = [i for i in self.counted if i[1].component is component]
        return total(leaf.count * times for _, leaf, times in mine)

    @cached_property
    def head_apart(self) -> int:
        """Parameters of heads that are tied to what is no head."""
        specs = {spec.name: spec for spec in self.prediction.specs}
        heads = [spec for spec in specs.values() if spec.name in self.prediction.tied]
        return sum(
            spec.parameters
            for spec in heads
            if spec.component is Component.HEAD
            and specs[spec.tied_to or ""].component is not Component.HEAD
        )

    @cached_property
    def one_expert(self) -> int | None:
        """The count with one expert in place of n, and no router."""
        routed = [(leaf, t) for _, leaf, t in self.counted if leaf.active is not None]
        if not routed:
            return None
        idle = 0
        for active in {leaf.active for leaf, _ in routed}:
            whole = sum(leaf.count.value * t.value for leaf, t in routed if leaf.active == active)
            idle += whole - whole // (active or (1, 1))[1]
        return self.polynomial.value - idle - self.part(Component.ROUTER).value


def _stacks(branch: Branch) -> list[Stack]:
    found = []
    for child in branch.children:
        if isinstance(child, Stack):
            found.append(child)
        elif isinstance(child, Branch):
            found += _stacks(child)
    return found


def explained(
    target: str,
    inspection: Inspection,
    d: Derivation,
    *,
    display: Callable[[Explanation], str] | None = None,
) -> Explanation:
    """The explanation of a derivation; what ``inspection`` measured stands beside it where it
    read headers. ``display`` makes what a notebook shows."""
    prediction, config, ledger = d.prediction, d.config, d.ledger
    closed = d.closed(d.polynomial)
    substituted = closed is not d.polynomial and closed.terms != d.polynomial.terms
    apart, active = d.head_apart, prediction.active_parameters
    seen: Measurement | None = None
    if inspection.source == "checkpoint":
        seen = measured(inspection, prediction)
    return Explanation(
        target=target,
        origin=inspection.origin,
        model_type=prediction.model_type,
        architecture=prediction.architecture,
        letters=_letters(d),
        sections=sections_of(d.tree, ledger),
        shares=shares_of([(leaf, times) for _, leaf, times in d.counted], ledger),
        parameters=d.polynomial.value,
        closed=ledger.writer.collected(closed, d.hidden)
        if len(closed.terms) <= MAX_PRINTED_TERMS
        else None,
        closed_note=_inner_note(d) if substituted else "",
        parameters_with_head=d.polynomial.value + apart if apart else None,
        active_parameters=None if active == d.polynomial.value else active,
        embedding=d.part(Component.EMBEDDING).value,
        tied=prediction.tied,
        attention=tuple(described(block, ledger) for block in d.blocks),
        notes=notes_of(d.tree, prediction.root, prediction.model_type, config, ledger),
        approximation=_approximation(d),
        promise=_promise(target, d, active),
        measured=seen,
        display=display,
    )


def _letters(d: Derivation) -> tuple[Letter, ...]:
    letters = d.ledger.writer.letters
    rows = []
    for quantity, letter in letters.items():
        meaning = quantity.definition
        if quantity.quotient:
            over, under = quantity.quotient
            meaning = f"{letters[over]} / {letters[under]}"
        elif not meaning and quantity == d.inner and d.hidden:
            meaning = f"4·{letters[d.hidden]}"
        elif not meaning and not quantity.name.startswith("layers "):
            meaning = "" if _stands_in(d.config, quantity.name) else "the family's default"
        rows.append(Letter(letter, quantity.name, quantity.value, meaning))
    return tuple(rows)


def _stands_in(config: Any, name: str) -> bool:
    for part in name.split("[")[0].split("."):
        config = config.get(part) if isinstance(config, Mapping) else None
    return config is not None


def _inner_note(d: Derivation) -> str:
    letters = d.ledger.writer.letters
    assert d.inner is not None and d.hidden is not None
    return f"with {letters[d.inner]} = 4·{letters[d.hidden]}"


def _approximation(d: Derivation) -> Approximation | None:
    """For one stack of layers: 12·L·H², which holds for MHA and an MLP of width 4·H."""
    hidden, depth = d.hidden, d.depth
    attends = d.part(Component.ATTENTION).terms and d.part(Component.MLP).terms
    if hidden is None or not depth or not attends:
        return None
    writer = d.ledger.writer
    layers = d.layers if d.layers is not None else number(depth)
    square = unknown(hidden) * unknown(hidden)
    rough = (layers * square).times(12)
    embedding = d.part(Component.EMBEDDING)
    rest = d.closed(d.polynomial - embedding - rough)
    formula = writer.formula(rough)
    left: Formula | None = None
    if len(rest.terms) <= MAX_PRINTED_TERMS:
        left = writer.collected(rest, hidden)
    return Approximation(
        formula, embedding.value, d.polynomial.value - embedding.value, d.polynomial.value, left
    )


def _promise(target: str, d: Derivation, active: int) -> Promise | None:
    exact = d.polynomial.value
    apart = d.head_apart
    embedding = d.part(Component.EMBEDDING).value
    counts = [Candidate("every parameter once", exact)]
    if apart:
        counts.append(Candidate("the tied head counted separately", exact + apart))
    counts.append(Candidate("without embeddings", exact - embedding))
    token = sum(l.count.value for _, l, _ in d.counted if l.kind in ("token", "position"))
    if token != embedding:
        counts.append(Candidate("without token and position embeddings", exact - token))
    head = d.part(Component.HEAD).value
    if head:
        counts.append(Candidate("without the head", exact - head))
    if active != exact:
        counts.append(Candidate("active parameters", active))
    return promises_of(target, counts, active, d.one_expert)
