"""A treemap as tiles: the tree of its leaves, and where each part lies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from .drawings import Leaf, Treemap
from .treemap_layout import Box, squarified

TileKind = Literal["root", "part", "component", "group", "module"]


@dataclass
class TreemapNode:
    """A place in the tree: what it is, its label, its component (none of a part, which has
    several), its size by the chosen measure."""

    kind: TileKind
    label: str
    component: str
    size: int = 0
    children: "dict[str, TreemapNode]" = field(default_factory=dict)


class Tile(NamedTuple):
    """A node where it lies; ``inner`` says whether its children lie in it. ``filled`` tiles have
    the colour of their component; what lies in them has edges alone."""

    node: TreemapNode
    box: Box
    depth: int
    inner: bool

    @property
    def filled(self) -> bool:
        return self.node.kind == "component" or (self.depth == 0 and self.node.kind != "part")


def tree(leaves: Sequence[Leaf], measure: int) -> TreemapNode:
    """The tree below one root. A part with a single child is one with it."""
    root = TreemapNode("root", "", "")
    for leaf in leaves:
        size = leaf.sizes[measure] or 0
        if not size:
            continue
        node = root
        root.size += size
        for kind, step in zip(_KINDS, leaf[:4], strict=True):
            if step:
                component = "" if kind == "part" else leaf.component
                node = node.children.setdefault(step, TreemapNode(kind, step, component))
                node.size += size
    for node in root.children.values():
        _join(node)
    return root


_KINDS: Final[tuple[TileKind, ...]] = ("part", "component", "group", "module")


def _join(node: TreemapNode) -> None:
    while len(node.children) == 1 and node.kind != "part":
        (child,) = node.children.values()
        glue = " " if node.kind == "group" else " · "
        node.label = f"{node.label}{glue}{child.label}"
        node.children = child.children
        node.kind = node.kind if node.kind == "component" else child.kind
    for child in node.children.values():
        _join(child)


#: Pixels of a label, and the least sides of a tile that is drawn, and of one with parts in it.
HEAD = 15.0
LEAST = 3.0
LEAST_INNER = 40.0


def tiles_of(treemap: Treemap, box: Box, measure: int = 0, depth: int = 3) -> Iterator[Tile]:
    """Tiles from the outside to the inside, those too small to be seen left out; parts are one
    level more than ``depth``."""
    depth += any(leaf.part for leaf in treemap.leaves)
    yield from _tiles_of(tree(treemap.leaves, measure), box, 0, depth)


def _tiles_of(node: TreemapNode, box: Box, at: int, depth: int) -> Iterator[Tile]:
    children = sorted(node.children.values(), key=lambda child: -child.size)
    boxes = squarified([child.size for child in children], box)
    for child, place in zip(children, boxes, strict=True):
        if place.w < LEAST or place.h < LEAST:
            continue
        has_room = place.w >= LEAST_INNER and place.h >= LEAST_INNER and at + 1 < depth
        inner = bool(child.children) and has_room
        yield Tile(child, place, at, inner)
        if inner:
            yield from _tiles_of(child, place.inner(2, HEAD), at + 1, depth)
