"""A model's tree of counts with its letters: what every part of an explanation is made of."""

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

from ..core.components import Component
from ..core.records import dataclass
from ..trees.prediction import Prediction
from .attention import AttentionBlock, blocks_of, hidden_of
from .count_tree import CountBranch, NamedLeaf, Stack, counted, counted_tree, leaves
from .ledger import Ledger
from .letters import assign
from .polynomials import Polynomial, Quantity, total, unknown
from .writer import Writer

_INNER = ("intermediate_size", "ffn_dim", "n_inner", "d_ff", "ffn_hidden_size")


@dataclass(frozen=True)
class Derivation:
    """Everything is computed when it is first needed. ``of_headers`` says that the tree was
    made from the headers themselves, ``keys`` how the file calls the sizes in ``config``."""

    prediction: Prediction
    config: Mapping[str, Any]
    of_headers: bool = False
    keys: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def tree(self) -> CountBranch:
        return counted_tree(self.prediction.root, self.config)

    @cached_property
    def all_leaves(self) -> tuple[NamedLeaf, ...]:
        return tuple(leaves(self.tree))

    @cached_property
    def counted(self) -> tuple[NamedLeaf, ...]:
        return tuple(item for item in self.all_leaves if item[1].status == "counted")

    @cached_property
    def polynomial(self) -> Polynomial:
        """The whole count."""
        return counted(self.tree)

    @cached_property
    def blocks(self) -> tuple[AttentionBlock, ...]:
        return blocks_of(self.tree, self.config, self.prediction.read, flat=self.of_headers)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Every unknown that a formula shows, in model order."""
        quantities: dict[Quantity, None] = {}

        def see(quantity: Quantity) -> None:
            for inner in quantity.quotient:
                see(inner)
            quantities.setdefault(quantity)

        for _, leaf, times in self.all_leaves:
            for quantity in (*leaf.count.quantities(), *times.quantities()):
                see(quantity)
        for block in self.blocks:
            for quantity in block.quantities():
                see(quantity)
        return tuple(quantities)

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
    def depth(self) -> Polynomial | None:
        """Layers of the one stack, whatever their kinds; None for several stacks or none."""
        stacks = list(_stacks(self.tree))
        return total(kind.times for kind in stacks[0].kinds) if len(stacks) == 1 else None

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
        specs = self.prediction.specs
        heads = specs.where(lambda spec: spec.component is Component.HEAD)
        tied = [spec for spec in heads if spec.name in self.prediction.tied]
        if not tied:
            return 0
        original_names = {spec.tied_to for spec in tied}
        originals = {spec.name for spec in heads if spec.name in original_names}
        return sum(spec.parameters for spec in tied if spec.tied_to not in originals)


def _stacks(branch: CountBranch) -> list[Stack]:
    stacks = []
    for child in branch.children:
        if isinstance(child, Stack):
            stacks.append(child)
        elif isinstance(child, CountBranch):
            stacks += _stacks(child)
    return stacks
