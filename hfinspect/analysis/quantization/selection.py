"""Which modules a config's lists name, found out while the tree of modules is walked.

Configs name modules as they are (``lm_head``, ``model.layers.0.mlp.gate``), by globs
(``model.layers.0*``) and by regular expressions (``.*\\.self_attn\\.q_proj$``). A name is read
segment by segment; two modules that are in the same state have the same future, so the subtree of a
layer is walked once for all layers that no pattern distinguishes.
"""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from ...errors import LimitError
from .expressions import Automaton

#: Real configs have up to 2,000 entries.
MAX_ENTRIES = 50_000
#: A shorter list may well be about modules that this model does not have.
MIN_LIST = 6

#: Layers of multi-token prediction, which stand next to those of the model and are called alike.
_BESIDE = "mtp"
_NONE: frozenset[int] = frozenset()


class SelectionState(NamedTuple):
    """Where a name has led to.

    ``positions`` are states of the automaton, ``outer`` and ``inner`` nodes in the tree of plain
    names (read from the first segment, or from a later one). ``subtree`` are the patterns that hold
    for the module and all below it, ``here`` those that hold for it alone.
    """

    is_root: bool
    positions: frozenset[int]
    outer: frozenset[int]
    inner: frozenset[int]
    subtree: frozenset[int]
    here: frozenset[int]


class Selection:
    """Patterns, each with a label of any kind. Of several labels the first that was added counts.

    A plain name holds for the module of that name and for all below it, and if ``inside`` also
    where the name stands after another (``lm_head`` for ``model.lm_head``). A glob has to match
    the whole name of a module and holds for all below it; an expression has to match the name's
    beginning. Adding raises UnreadablePatternError, and LimitError for too much.
    """

    def __init__(self) -> None:
        self._labels: list[Hashable] = []
        self._automaton = Automaton()
        self._starts: list[int] = []
        self._sticky: set[int] = set()
        self._children: list[dict[str, int]] = [{}]
        self._named: dict[int, int] = {}
        self._alone: dict[int, int] = {}
        self._named_inside: dict[int, int] = {}
        self._ends: dict[int, tuple[int, int]] = {}
        self._reached: set[int] = set()
        self._entered: dict[tuple[SelectionState, str], SelectionState] = {}
        self._matched: set[int] = set()

    def add(
        self,
        patterns: Iterable[object],
        label: Hashable,
        *,
        inside: bool = True,
        alone: bool = False,
    ) -> None:
        """Plain names and globs; what is no string is passed over. ``alone``: a plain name holds
        for the module alone, not for what is below it."""
        for pattern in patterns:
            if not isinstance(pattern, str) or not pattern:
                continue
            if "*" in pattern or "?" in pattern:
                number = self._number(label)
                self._starts.append(self._automaton.glob(pattern, number))
                self._sticky.add(number)
            else:
                self._name(pattern, label, inside, alone)

    def expression(self, text: str, label: Hashable) -> None:
        """A regular expression, as ``re.match`` reads it."""
        self._starts.append(self._automaton.expression(text, self._number(label)))

    def _number(self, label: Hashable) -> int:
        if len(self._labels) >= MAX_ENTRIES:
            raise LimitError(
                "quantization_config", "names too many modules", expected=f"at most {MAX_ENTRIES:,}"
            )
        self._labels.append(label)
        return len(self._labels) - 1

    def _name(self, name: str, label: Hashable, inside: bool, alone: bool) -> None:
        at, before = self._add(name.split("."))
        self._note_tail(name, at, before)
        if alone:
            self._alone.setdefault(at, self._number(label))
            return
        self._named.setdefault(at, self._number(label))
        if inside:
            self._named_inside.setdefault(at, self._named[at])

    def _add(self, segments: list[str]) -> tuple[int, int]:
        """The node of a path in the tree of plain names, and the node before it."""
        at = before = 0
        for segment in segments:
            before = at
            at = self._children[at].setdefault(segment, len(self._children))
            if at == len(self._children):
                self._children.append({})
        return at, before

    def _note_tail(self, name: str, at: int, before: int) -> None:
        """Where a name of one layer would stand if the files had another name in front of it."""
        segments = name.split(".")
        number = next((i for i, segment in enumerate(segments) if segment.isdigit()), 0)
        if number < 2 or _BESIDE in segments:
            return
        tail, _ = self._add(segments[number - 1 :])
        self._ends[at] = before, tail

    # ---- walking

    def start(self) -> SelectionState:
        """The state of the root."""
        positions = self._automaton.closure(self._starts)
        begun = self._automaton.accepted(positions) - self._sticky
        return SelectionState(True, positions, frozenset({0}), _NONE, begun, _NONE)

    def enter(self, state: SelectionState, segments: str) -> SelectionState:
        """The state of a child."""
        known = self._entered.get((state, segments))
        if known is None:
            known = state
            for segment in segments.split("."):
                known = self._enter(known, segment)
            self._entered[state, segments] = known
        return known

    def _enter(self, state: SelectionState, segment: str) -> SelectionState:
        automaton = self._automaton
        entered = set(state.subtree)
        positions = state.positions
        for character in segment if state.is_root else f".{segment}":
            positions = automaton.step(positions, character)
            entered |= automaton.accepted(positions)
        ended = automaton.accepted(automaton.closure(positions, at_end=True))
        entered |= ended & self._sticky
        outer = self._below(state.outer, segment)
        # The root of the tree of names once more: a name may begin at any segment but the first.
        begins = state.inner if state.is_root else state.inner | {0}
        inner = self._below(begins, segment)
        entered |= {self._named[node] for node in outer if node in self._named}
        entered |= {self._named_inside[node] for node in inner if node in self._named_inside}
        here = ended | {self._alone[node] for node in outer if node in self._alone}
        here -= entered
        self._matched |= entered | here
        self._reached |= outer | inner
        return SelectionState(False, positions, outer, inner, frozenset(entered), here)

    def _below(self, nodes: frozenset[int], segment: str) -> frozenset[int]:
        if not nodes:
            return nodes
        children = (self._children[node].get(segment) for node in nodes)
        return frozenset(node for node in children if node is not None)

    @property
    def names_nothing(self) -> bool:
        """Whether of a list of patterns none has held for any module so far, or the name of a
        layer's module only with something else in front of it."""
        if len(self._labels) >= MIN_LIST and not self._matched:
            return True
        reached = self._reached
        return any(
            tail in reached and end not in reached and before not in reached
            for end, (before, tail) in self._ends.items()
        )

    def label(self, state: SelectionState) -> Hashable | None:
        """The first label that holds for the module, or None."""
        reached = state.subtree | state.here
        return self._labels[min(reached)] if reached else None
