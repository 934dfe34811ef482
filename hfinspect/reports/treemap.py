"""A treemap as tiles: the tree of its leaves, and where each part lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .drawings import Leaf, Treemap
from .treemap_layout import Box, squarified


@dataclass
class Node:
    """A part of the tree: its label, its component, its size by the chosen measure."""

    label: str
    component: str
    size: int = 0
    children: dict[str, Node] = field(default_factory=dict)


class Tile(NamedTuple):
    """A node where it lies; ``inner`` says whether its children lie in it."""

    node: Node
    box: Box
    depth: int
    inner: bool


def tree(leaves: Sequence[Leaf], measure: int) -> Node:
    """The tree below one root. A part with a single child is one with it."""
    root = Node("", "")
    for leaf in leaves:
        size = leaf.sizes[measure] or 0
        if not size:
            continue
        node = root
        root.size += size
        for step in leaf.path:
            node = node.children.setdefault(step, Node(step, leaf.component))
            node.size += size
    for node in root.children.values():
        node.children = {name: _joined(child) for name, child in node.children.items()}
        if len(node.children) == 1:
            (child,) = node.children.values()
            node.label, node.children = f"{node.label} · {child.label}", child.children
    return root


def _joined(node: Node) -> Node:
    while len(node.children) == 1:
        (child,) = node.children.values()
        # A module and its tensor make one name; a group of layers and a module do not.
        glue = " " if "layer" in node.label else "."
        node = Node(f"{node.label}{glue}{child.label}", node.component, node.size, child.children)
    node.children = {name: _joined(child) for name, child in node.children.items()}
    return node


#: Pixels of a label, and the least sides of a tile that is drawn, and of one with parts in it.
HEAD, LEAST, LEAST_INNER = 15.0, 3.0, 40.0


def placed(treemap: Treemap, box: Box, measure: int = 0, depth: int = 3) -> Iterator[Tile]:
    """Tiles from the outside to the inside, those too small to be seen left out."""
    yield from _placed(tree(treemap.leaves, measure), box, 0, depth)


def _placed(node: Node, box: Box, at: int, depth: int) -> Iterator[Tile]:
    children = sorted(node.children.values(), key=lambda child: -child.size)
    boxes = squarified([child.size for child in children], box)
    for child, place in zip(children, boxes, strict=True):
        if place.w < LEAST or place.h < LEAST:
            continue
        has_room = place.w >= LEAST_INNER and place.h >= LEAST_INNER and at + 1 < depth
        inner = bool(child.children) and has_room
        yield Tile(child, place, at, inner)
        if inner:
            yield from _placed(child, place.inner(2, HEAD), at + 1, depth)
