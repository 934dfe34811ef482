"""A module tree as a tree of counts: equal siblings folded, every tensor with its polynomial.

Polynomials inside a stack of layers are those of one layer; elsewhere they are of the whole.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from ..core.components import Component, Role
from ..core.records import dataclass
from ..trees.expand import Context
from ..trees.modules import Module, ModuleList, Parameter
from .polynomials import (
    ONE,
    Polynomial,
    Quantity,
    number,
    of_shape,
    of_size,
    total,
    unknown,
    with_widths,
)

#: Counted once here; counted at the tensor it is tied to; a buffer; not in a fresh save.
Status = Literal["counted", "tied", "buffer", "unsaved"]

#: Runs of layers that a name lists; of more the first two and the last. Sections hold all numbers.
MAX_LISTED = 4

#: Config keys that say how many layers there are, where the list itself does not.
_LAYER_KEYS = tuple(
    """num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers
    num_decoder_layers depth""".split()
)


@dataclass(frozen=True)
class CountLeaf:
    """One tensor, or equal tensors of folded siblings (experts): then ``copies`` of them."""

    name: str
    count: Polynomial
    component: Component
    kind: str
    part: str
    status: Status
    bias: bool
    role: Role
    tied_to: str | None = None
    active: tuple[int, int] | None = None
    copies: int = 1


@dataclass(frozen=True)
class CountBranch:
    """A module. ``folded`` says how many equal siblings it stands for, if more than one."""

    name: str
    class_name: str
    children: "tuple[TreeNode, ...]"
    folded: Polynomial = ONE


@dataclass(frozen=True)
class Stack:
    """A list of layers: its kinds, each with the layers that are of it."""

    name: str
    kinds: "tuple[CountKind, ...]"
    children: "tuple[TreeNode, ...]" = ()


@dataclass(frozen=True)
class CountKind:
    """Layers that are equal: one of them, which, and how many as a polynomial."""

    layer: CountBranch
    indices: tuple[int, ...]
    times: Polynomial


TreeNode = CountLeaf | CountBranch | Stack
#: A leaf with its full name and the multiplier of its stack.
NamedLeaf = tuple[str, CountLeaf, Polynomial]


def counted_tree(root: Module, config: Mapping[str, Any]) -> CountBranch:
    """The whole model. ``config`` has the keys that say how many layers there are."""
    return CountBranch(
        "", root.class_name, _children(root, Context().entering(root), _LayerContext(config))
    )


def leaves(node: TreeNode, prefix: str = "") -> Iterator[NamedLeaf]:
    """Every leaf with its full name (``*`` for a layer's number) and the stack's multiplier."""
    path = f"{prefix}{node.name}"
    if isinstance(node, CountLeaf):
        yield path, node, ONE
    elif isinstance(node, CountBranch):
        for child in node.children:
            yield from leaves(child, f"{path}." if path else "")
    else:
        for kind in node.kinds:
            head = f"{path}.{numbered(kind.indices, len(node.kinds) == 1)}."
            for child in kind.layer.children:
                for name, leaf, _ in leaves(child, head):
                    yield name, leaf, kind.times


def numbered(indices: tuple[int, ...], everyone: bool, most: int | None = MAX_LISTED) -> str:
    """``*`` for all, else runs: ``[0-2]``; of more than ``most`` the first two and the last:
    ``[0-2,4-6,...,56-58]``, ``[3,7,...,59]``."""
    if everyone and len(indices) > 1:
        return "*"
    if len(indices) == 1:
        return str(indices[0])
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    shown = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    if most is not None and len(shown) > most:
        shown[2:-1] = ["..."]
    return f"[{','.join(shown)}]"


class _LayerContext:
    """How many layers, as a polynomial; ``inside`` while a stack's layer is being counted,
    ``path`` of the module whose children are."""

    def __init__(self, config: Mapping[str, Any], path: str = "", inside: bool = False) -> None:
        self.config = config
        self.path = path
        self.inside = inside

    def within(self) -> "_LayerContext":
        return _LayerContext(self.config, inside=True)

    def at(self, name: str) -> "_LayerContext":
        return self if self.inside else _LayerContext(self.config, f"{self.path}{name}.")

    def some(self, indices: tuple[int, ...], name: str) -> Polynomial:
        """Some of the layers: a quantity that no config key names. A single one needs none."""
        if len(indices) == 1:
            return ONE
        where = f"of {self.path}{name}"
        every, short = (numbered(indices, False, most).strip("[]") for most in (None, MAX_LISTED))
        definition = f"layers {short} {where}"
        return unknown(Quantity(f"layers {every} {where}", len(indices), definition))

    def count(self, modules: ModuleList, members: int, name: str) -> Polynomial:
        """All of them."""
        if modules.count is not None and int(modules.count) == members:
            return of_size(modules.count)
        for key in _LAYER_KEYS:
            if self.config.get(key) == members and not isinstance(self.config[key], bool):
                return unknown(Quantity(key, members))
        return unknown(Quantity(f"layers of {self.path}{name}", members))


def _children(module: Module, context: Context, layers: _LayerContext) -> tuple[TreeNode, ...]:
    return _nodes(module.children, context, layers)


def _nodes(
    children: Mapping[str, Module | Parameter], context: Context, layers: _LayerContext
) -> tuple[TreeNode, ...]:
    nodes: list[TreeNode] = []
    for name, child in children.items():
        inner = context.entering(child)
        if isinstance(child, Parameter):
            nodes.append(_leaf(name, child, inner))
            continue
        if child.scope:
            inner = inner._replace(scope=layers.at(name).path)
        if isinstance(child, ModuleList):
            if child.is_layers and not layers.inside:
                nodes.extend(_stack(name, child, inner, layers))
            else:
                nodes.extend(_folded(name, child, inner, layers))
            # Some lists hold a tensor under a name of its own.
            others = {key: value for key, value in child.children.items() if not key.isdecimal()}
            if others:
                beside = _nodes(others, inner, layers.at(name))
                nodes.append(CountBranch(name, child.class_name, beside))
        else:
            inside = _children(child, inner, layers.at(name))
            if inside:
                nodes.append(CountBranch(name, child.class_name, inside))
    return tuple(nodes)


def _leaf(name: str, tensor: Parameter, context: Context) -> CountLeaf:
    status: Status = "counted"
    if not context.saved:
        status = "unsaved"
    elif tensor.tied_to is not None:
        status = "tied"
    elif tensor.role is not Role.PARAMETER:
        status = "buffer"
    return CountLeaf(
        name,
        with_widths(of_shape(tensor.shape)),
        context.component,
        context.kind,
        context.part,
        status,
        name == "bias" or (name.endswith(("_bias", "bias_v", "bias_k")) and len(tensor.shape) < 2),
        tensor.role,
        context.scope + tensor.tied_to if tensor.tied_to else None,
        context.active,
    )


# ---- lists


def _groups(
    modules: ModuleList, context: Context, layers: _LayerContext
) -> list[tuple[tuple[TreeNode, ...], str, list[int]]]:
    """Members in groups of equals: what is in one, its class, their numbers."""
    members: dict[int, list[int]] = {}  # of an object that is listed many times
    groups: dict[tuple[TreeNode, ...], tuple[str, list[int]]] = {}
    for name, child in modules.children.items():
        if not name.isdecimal():
            continue
        if id(child) not in members:
            inner = context.entering(child)
            if isinstance(child, Module):
                content = _children(child, inner, layers)
                class_name = child.class_name
            else:
                content = (_leaf("", child, inner),)
                class_name = "Parameter"
            members[id(child)] = groups.setdefault(content, (class_name, []))[1]
        members[id(child)].append(int(name))
    return [
        (content, class_name, indices)
        for content, (class_name, indices) in groups.items()
        if content
    ]


def _stack(
    name: str, modules: ModuleList, context: Context, layers: _LayerContext
) -> list[TreeNode]:
    groups = _groups(modules, context, layers.within())
    saved = [group for group in groups if any(_is_saved(node) for node in group[0])]
    nodes: list[TreeNode] = []
    if saved:
        kinds = []
        for content, class_name, indices in saved:
            if len(saved) == 1:
                times = layers.count(modules, len(indices), name)
            else:
                times = layers.some(tuple(indices), name)
            kinds.append(CountKind(CountBranch("", class_name, content), tuple(indices), times))
        nodes.append(Stack(name, tuple(kinds)))
    # Layers that a fresh save leaves out (multi-token prediction) are no layers of the model.
    for content, class_name, indices in groups:
        if not any(_is_saved(node) for node in content):
            nodes.append(_fold(name, content, class_name, indices, ONE.times(len(indices)), False))
    return nodes


def _is_saved(node: TreeNode) -> bool:
    return any(leaf.status != "unsaved" for _, leaf, _ in leaves(node))


def _folded(
    name: str, modules: ModuleList, context: Context, layers: _LayerContext
) -> list[TreeNode]:
    groups = _groups(modules, context, layers)
    nodes: list[TreeNode] = []
    for content, class_name, indices in groups:
        times = ONE.times(len(indices))
        if len(groups) == 1 and modules.count is not None and int(modules.count) == len(indices):
            times = of_size(modules.count)
        nodes.append(_fold(name, content, class_name, indices, times, len(groups) == 1))
    return nodes


def _fold(
    name: str,
    content: tuple[TreeNode, ...],
    class_name: str,
    indices: list[int],
    times: Polynomial,
    everyone: bool,
) -> CountBranch:
    numbers = numbered(tuple(indices), everyone)
    copies = len(indices)
    children = tuple(_multiplied(child, times, copies) for child in content)
    if len(children) == 1 and isinstance(children[0], CountLeaf) and not children[0].name:
        return CountBranch(name, class_name, (replace(children[0], name=numbers),), times)
    return CountBranch(f"{name}.{numbers}", class_name, children, times)


def _multiplied(node: TreeNode, times: Polynomial, copies: int) -> TreeNode:
    if copies == 1:
        return node
    if isinstance(node, CountLeaf):
        return replace(node, count=node.count * times, copies=node.copies * copies)
    if isinstance(node, CountBranch):
        inside = tuple(_multiplied(child, times, copies) for child in node.children)
        return replace(node, children=inside)
    kinds = tuple(replace(kind, times=kind.times * times) for kind in node.kinds)
    return replace(node, kinds=kinds)


def counted(node: TreeNode) -> Polynomial:
    """Parameters counted in a node: of one layer inside a stack, of all of it elsewhere."""
    if isinstance(node, CountLeaf):
        return node.count if node.status == "counted" else number(0)
    if isinstance(node, CountBranch):
        return total(counted(child) for child in node.children)
    return total(kind.times * counted(kind.layer) for kind in node.kinds)
