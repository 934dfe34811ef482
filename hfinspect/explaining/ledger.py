"""The ledger: sections and rows, from the tree of counts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from ..core.components import Component
from ..core.formula import Formula
from ..core.ledger_lines import Row, Section, Share
from ..core.records import dataclass
from .count_tree import (
    CountBranch,
    CountKind,
    CountLeaf,
    Stack,
    TreeNode,
    counted,
    leaves,
    numbered,
)
from .polynomials import ONE, Polynomial, Quantity, number, total
from .writer import Writer

#: A formula with more terms than this hides more than it shows; its parts are printed anyway.
MAX_PRINTED_TERMS = 16
#: Up to this many terms read best side by side.
MAX_LOOSE_TERMS = 4


@dataclass(frozen=True)
class Ledger:
    """What the ledger needs to write: letters, and the quantity to collect sums by (H)."""

    writer: Writer
    main: Quantity | None

    def sum(self, polynomial: Polynomial) -> Formula | None:
        """A sum over many modules, collected by powers of H if long; None where too long."""
        if len(polynomial.terms) > MAX_PRINTED_TERMS:
            return None
        by = self.main if len(polynomial.terms) > MAX_LOOSE_TERMS else None
        return self.writer.collected(polynomial, by)

    def product(self, count: Polynomial, one: Polynomial) -> Formula | None:
        written = self.sum(one)
        return None if written is None else self.writer.product(count, one, written)

    def rows_formula(self, polynomial: Polynomial) -> Formula:
        """Of a row: term by term; the number alone where that is too long."""
        short = len(polynomial.terms) <= MAX_PRINTED_TERMS
        return self.writer.formula(polynomial if short else number(polynomial.value))


def sections_of(tree: CountBranch, ledger: Ledger) -> tuple[Section, ...]:
    """Consecutive modules outside the layers, and each kind of layer, in model order."""
    entries = list(_pieces(tree, ""))
    wrapper = _wrapper([piece.path for piece in entries if isinstance(piece, _LedgerLayers)])
    stacks = [i for i, piece in enumerate(entries) if isinstance(piece, _LedgerLayers)]
    sections = []
    for i, piece in enumerate(entries):
        if isinstance(piece, _LedgerLayers):
            sections.append(_layer_section(piece, ledger))
        else:
            section = _outside_section(_title(i, stacks), piece, wrapper, ledger)
            if section.rows:
                sections.append(section)
    return tuple(sections)


def _wrapper(stacks: Sequence[str]) -> str:
    """``transformer.``, the base model that a head class keeps all its layers in: labels outside
    the layers go without it."""
    heads = {path.partition(".")[0] for path in stacks if "." in path}
    return f"{heads.pop()}." if len(heads) == 1 and all("." in path for path in stacks) else ""


def _title(position: int, stacks: Sequence[int]) -> str:
    if not stacks:
        return "The model"
    if position < stacks[0]:
        return "Before the layers"
    return "After the layers" if position > stacks[-1] else "Between the layers"


# ---- cutting the tree at its stacks


@dataclass(frozen=True)
class _LedgerLayers:
    path: str
    kind: CountKind
    alone: bool


_Outside = list[tuple[str, TreeNode]]


def _pieces(tree: CountBranch, prefix: str) -> Iterator[_Outside | _LedgerLayers]:
    waiting: _Outside = []
    for piece in _walk(tree, prefix):
        if isinstance(piece, _LedgerLayers):
            if waiting:
                yield waiting
                waiting = []
            yield piece
        else:
            waiting.append(piece)
    if waiting:
        yield waiting


def _walk(branch: CountBranch, prefix: str) -> Iterator[tuple[str, TreeNode] | _LedgerLayers]:
    """Nodes without layers in them, each with the path before its name, and layers by kind."""
    for child in branch.children:
        if isinstance(child, Stack):
            for kind in child.kinds:
                yield _LedgerLayers(prefix + child.name, kind, len(child.kinds) == 1)
        elif isinstance(child, CountBranch) and _holds_layers(child):
            yield from _walk(child, f"{prefix}{child.name}.")
        else:
            yield prefix, child


def _holds_layers(branch: CountBranch) -> bool:
    return any(
        isinstance(child, Stack) or (isinstance(child, CountBranch) and _holds_layers(child))
        for child in branch.children
    )


# ---- sections


def _outside_section(title: str, nodes: _Outside, wrapper: str, ledger: Ledger) -> Section:
    rows = [
        row
        for prefix, node in nodes
        for row in _node_rows(node, prefix, prefix.removeprefix(wrapper), 0, ledger)
    ]
    one = total(counted(node) for _, node in nodes)
    formula = ledger.sum(one)
    shares = shares_of([(leaf, ONE) for _, n in nodes for _, leaf, _ in leaves(n)], ledger)
    return Section(title, "", (), None, tuple(rows), shares, one.value, formula, formula)


def _layer_section(layers: _LedgerLayers, ledger: Ledger) -> Section:
    kind = layers.kind
    where = numbered(kind.indices, layers.alone)
    head = f"{layers.path}.{where}."
    rows = [row for node in kind.layer.children for row in _node_rows(node, head, "", 0, ledger)]
    one = counted(kind.layer)
    times = ledger.writer.formula(kind.times)
    many = f"one of {times.text} = {times.value} layers" if kind.times != ONE else "one layer"
    shares = shares_of([(leaf, ONE) for _, leaf, _ in leaves(kind.layer)], ledger)
    return Section(
        f"{layers.path}.{where}: {many}",
        layers.path,
        kind.indices,
        times,
        tuple(rows),
        shares,
        one.value,
        ledger.sum(one),
        ledger.product(kind.times, one),
    )


def shares_of(counted: Iterable[tuple[CountLeaf, Polynomial]], ledger: Ledger) -> tuple[Share, ...]:
    """Sums by component, in the order of ``Component``; each leaf comes with its multiplier."""
    sums: dict[str, tuple[list[Polynomial], list[Polynomial]]] = {}
    for leaf, times in counted:
        if leaf.status == "counted":
            weights, biases = sums.setdefault(leaf.component.value, ([], []))
            (biases if leaf.bias else weights).append(leaf.count * times)
    shares = []
    for component in (c.value for c in Component):
        if component in sums:
            matrices, vectors = (total(part) for part in sums[component])
            formula = ledger.sum(matrices + vectors)
            shares.append(Share(component, matrices.value, vectors.value, formula))
    return tuple(shares)


# ---- rows


def _node_rows(
    node: TreeNode, prefix: str, before: str, indent: int, ledger: Ledger
) -> Iterator[Row]:
    """``prefix`` is the path before the node, ``before`` the part of it that labels show:
    nearly all of it outside the layers, none inside layers and groups."""
    if isinstance(node, CountLeaf):
        if node.status != "unsaved":
            yield _tensor_row(node, prefix + node.name, before + node.name, indent, ledger)
        return
    assert isinstance(node, CountBranch)
    saved = [child for child in node.children if _saved(child)]
    if not saved:
        return
    path = prefix + node.name
    label = before + node.name
    if len(saved) == 1 and isinstance(saved[0], CountBranch):
        yield from _node_rows(saved[0], f"{path}.", f"{label}.", indent, ledger)
        return
    below = [child for child in saved if isinstance(child, CountBranch)]
    yield _module_row(node, path, label, indent, "group" if below else "module", ledger)
    for child in saved:
        if isinstance(child, CountLeaf):
            row = _tensor_row(child, f"{path}.{child.name}", child.name, indent + 1, ledger)
            # Next to modules, a bare parameter is a line of the ledger like them.
            yield replace(row, level="module") if below else row
        else:
            yield from _node_rows(child, f"{path}.", "", indent + 1, ledger)


def _saved(node: TreeNode) -> bool:
    return any(leaf.status != "unsaved" for _, leaf, _ in leaves(node))


def _tensor_row(leaf: CountLeaf, path: str, label: str, indent: int, ledger: Ledger) -> Row:
    formula = ledger.rows_formula(leaf.count)
    assert leaf.status != "unsaved"  # such tensors have no row
    return Row(
        path,
        label,
        indent,
        "tensor" if indent else "module",
        leaf.component.value,
        leaf.kind,
        None if leaf.bias else formula,
        formula if leaf.bias else None,
        formula,
        leaf.status,
        leaf.tied_to,
    )


def _module_row(
    branch: CountBranch,
    path: str,
    label: str,
    indent: int,
    level: Literal["group", "module"],
    ledger: Ledger,
) -> Row:
    all_leaves = [leaf for _, leaf, _ in leaves(branch) if leaf.status != "unsaved"]
    live = [leaf for leaf in all_leaves if leaf.status == "counted"]
    status: Literal["counted", "tied", "buffer"] = (
        "counted" if live else "tied" if any(f.status == "tied" for f in all_leaves) else "buffer"
    )
    shown = live or [leaf for leaf in all_leaves if leaf.status == status]
    weights = total(leaf.count for leaf in shown if not leaf.bias)
    biases = total(leaf.count for leaf in shown if leaf.bias)
    first = shown[0]
    return Row(
        path,
        label,
        indent,
        level,
        first.component.value,
        first.kind,
        ledger.rows_formula(weights) if weights.terms else None,
        ledger.rows_formula(biases) if biases.terms else None,
        ledger.rows_formula(weights + biases),
        status,
        first.tied_to if status == "tied" else None,
    )
