"""A way to count otherwise, and what builds one."""

from collections.abc import Callable, Iterator

from ..core.records import dataclass
from .count_tree import CountBranch, CountLeaf, NamedLeaf, Stack
from .derivation import Derivation
from .polynomials import Polynomial, total

#: How the names of ways about whole modules begin.
_WHOLE = tuple(
    """head-apart no-embeddings no-token-embeddings no-position-embeddings no-head no-pooler
    with-pooler counted-as- not-loaded active-only one-expert causal-masks
    multi-token-prediction""".split()
)


@dataclass(frozen=True)
class Counting:
    """``cost`` ranks ways: 1 is common, 2 a slip, 3 far-fetched.

    ``touches`` are the tensors that it changes: two ways that share one contradict each other."""

    name: str
    text: str
    delta: Polynomial
    touches: frozenset[str]
    cost: int = 1

    @property
    def is_of_modules(self) -> bool:
        """Whether it is about whole modules, which is what a rounded size may mean. What changes
        a rounded count a little (a bias, a layer) reaches any number by chance."""
        return self.name.startswith(_WHOLE)


def without(
    d: Derivation, name: str, text: str, left_out: Callable[[str, CountLeaf], bool], cost: int = 1
) -> Counting:
    items = [item for item in d.counted if left_out(item[0], item[1])]
    delta = total(leaf.count * times for _, leaf, times in items).times(-1)
    return Counting(name, text, delta, frozenset(name for name, _, _ in items), cost)


def in_layers(d: Derivation) -> list[NamedLeaf]:
    stacks = [f"{path}." for path, _ in _stack_paths(d.tree, "")]
    return [i for i in d.counted if any(i[0].startswith(stack) for stack in stacks)]


def _stack_paths(branch: CountBranch, prefix: str) -> Iterator[tuple[str, Stack]]:
    for child in branch.children:
        if isinstance(child, Stack):
            yield f"{prefix}{child.name}", child
        elif isinstance(child, CountBranch):
            yield from _stack_paths(child, f"{prefix}{child.name}.")
