"""The modules of a trace's nodes at a config; the forms of nodes are those of ``traced.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..core.components import Component, Role
from ..core.config import MAX_COUNT, MAX_DIM, ModelConfig
from ..core.dims import Dim
from .arithmetic import NoValueError, Written, holds, value
from .backbone_stages import stage_names
from .cache_layout import Unknown, cache_item
from .guarded import GuardedRead
from .learned_activations import check_activations
from .modules import Layers, Module, ModuleList, Parameter
from .older_files import older_names

#: Ten times the nodes of the largest trace.
MAX_NODES: Final = 20_000
#: Members of one module or list, together: what one class may put out.
MAX_BUILT: Final = 200_000
#: Tensors that one module says to keep: twice as many as any does.
MAX_KEPT: Final = 16
#: Of layers whose recorded cache is not what the kinds of their projections say, or not recorded.
_NOT_SHOWN: Final = (Unknown("what its layers keep is not recorded"),)

#: What builds a class from a config.
Build = Callable[[ModelConfig], Module]


class Building:
    """Makes modules of nodes; a node of the table that says nothing of its place is made once."""

    def __init__(
        self,
        read: GuardedRead,
        trace: Mapping[str, Any],
        builds: Mapping[str, Build],
        other: Callable[[str], Build],
        cache: Mapping[str, Any] | None = None,
    ) -> None:
        nodes = trace["nodes"]
        if len(nodes) > MAX_NODES:
            raise ValueError("too many nodes")
        self._read = read
        self._own = builds
        self._other = other
        self._nodes = nodes
        self._made: dict[Any, Module | Parameter | None] = {}
        self._left = MAX_BUILT
        self._cache = cache
        self._windows: dict[int, int] = {}

    def node(self, node: Any, below: int | None = None) -> Module | Parameter | None:
        """``below``: nodes of the table may be named that stand before this one."""
        below = len(self._nodes) if below is None else below
        if isinstance(node, int):
            if not 0 <= node < below:
                raise ValueError("a node names one that does not stand before it")
            key = node, *self._read.places.items()
            if key not in self._made:
                self._made[key] = self.node(self._nodes[node], node)
            return self._made[key]
        self._left -= 1
        if self._left < 0:
            raise NoValueError("is more than can be listed")
        if isinstance(node, list):
            return Parameter(self._sizes(node))
        if "if" in node:
            return self._chosen(node, below)
        if "shape" in node:
            return self._tensor(node)
        if "section" in node:
            return self._part(node)
        return self._list(node, below) if "count" in node else self._module(node, below)

    def _part(self, node: Mapping[str, Any]) -> Module:
        """A class of the catalog at a section."""
        name = str(node["class"])
        path = str(node["section"])
        if path:
            outer, key = self._read.place(path)
            if outer.says(key) and outer.raw(key) is None:
                raise self._read.refused(path, None)
        section = self._read.section(path)
        module = (self._own.get(name) or self._other(name))(section)
        if path:
            check_activations(name, section, module)
        module.scope = True
        module.part = node.get("part") or module.part
        return module

    def _chosen(self, node: Mapping[str, Any], below: int) -> Module | Parameter | None:
        branch = node["then"] if holds(node["if"], self._read) else node.get("else")
        return None if branch is None else self.node(branch, below)

    def _sizes(self, shape: list[Written]) -> tuple[int, ...]:
        if len(shape) > 8:
            raise ValueError("a tensor of too many dimensions")
        return tuple(map(self._size, shape))

    def _size(self, written: Written) -> int:
        return self._count(written, MAX_DIM, "size")

    def _count(self, written: Written, most: int, what: str) -> int:
        try:
            count = value(written, self._read)
            if not isinstance(count, int) or not 0 <= count <= most:
                raise NoValueError(f"is not a {what}")
        except NoValueError as error:
            error.key = error.key or self._read.first_given(written)
            raise
        return count

    def _tensor(self, node: Mapping[str, Any]) -> Parameter:
        active = node.get("active")
        pair = None
        if active is not None:
            k, n = (int(value(part, self._read)) for part in active)
            pair = (min(k, n), n) if k > 0 else None
        if not isinstance(node.get("tied", ""), str):
            raise ValueError("a tie to what is not a name")
        return Parameter(
            self._sizes(node["shape"]),
            role=Role.BUFFER if node.get("buffer") else Role.PARAMETER,
            dtype=node.get("dtype"),
            tied_to=node.get("tied"),
            component=_component(node),
            kind=node.get("kind"),
            active=pair,
            saved=node.get("saved", True),
        )

    def _module(self, node: Mapping[str, Any], below: int) -> Module:
        children = {str(name): self.node(child, below) for name, child in node["in"].items()}
        if node.get("layers"):  # numbered, and some numbers are of modules without tensors
            numbered = Layers((), class_name=str(node["class"]), part=node.get("part"))
            numbered.children.update({n: c for n, c in children.items() if c is not None})
            return numbered
        module = Module(str(node["class"]), children, **_labels(node))
        module.detail = _detail(module)
        for name, older in older_names(module).items():
            module.children.setdefault(name, older)  # unless the trace has it itself
        if "keeps" in node:
            module.cache = tuple(cache_item(row, self._size) for row in node["keeps"][:MAX_KEPT])
        if "window" in node:
            self._windows[id(module)] = self._size(node["window"])
        return module

    def _list(self, node: Mapping[str, Any], below: int) -> Module:
        count = self._count(node["count"], MAX_COUNT, "number of layers")
        self._left -= count
        numbered = [self._member(node, i, below) for i in range(int(count))]
        self._read.places.pop(str(node.get("place")), None)
        if node.get("names"):
            return self._stages(node, numbered)
        members = [member for member in numbered if member is not None]
        if len(members) < count:
            raise ValueError("a list that lacks a member")
        length = count if isinstance(count, Dim) else None
        if node.get("layers"):
            return self._layers(node, members, length)
        return ModuleList(members, class_name=str(node["class"]), count=length, **_labels(node))

    def _stages(self, node: Mapping[str, Any], numbered: list[Module | None]) -> Module:
        """What calls its members stem, stage1, ... and holds those that are handed on."""
        by_name = zip(stage_names(len(numbered) - 1), numbered, strict=True)
        members = {name: member for name, member in by_name if member is not None}
        return Module(str(node["class"]), members, **_labels(node))

    def _layers(self, node: Mapping[str, Any], members: list[Module], length: Dim | None) -> Layers:
        if self._cache is None:
            for member in members:
                member.cache = _NOT_SHOWN
        layers = Layers(members, class_name=str(node["class"]), part=node.get("part"), count=length)
        layers.static = self._cache is None or self._cache.get("static", True)
        looks = [self._windows.get(id(member)) for member in members]
        if any(window is not None for window in looks):
            layers.windows = lambda count: looks[:count]
        return layers

    def _member(self, node: Mapping[str, Any], i: int, below: int) -> Module | None:
        """A member of a list: what the first condition that holds there says."""
        if "place" in node:
            self._read.places[str(node["place"])] = i
        for when, template in node["pick"]:
            if when is None or holds(when, self._read, i):
                member = self.node(template, below)
                if not isinstance(member, Module):
                    raise ValueError("a list of what is not a module")
                return member
        return None


def _component(node: Mapping[str, Any]) -> Component | None:
    alias = node.get("as")
    return None if alias is None else Component(alias)


def _labels(node: Mapping[str, Any]) -> dict[str, Any]:
    """What a node says its tensors are for."""
    return {"component": _component(node), "part": node.get("part"), "kind": node.get("kind")}


def _detail(module: Module) -> str:
    """What stands between the parentheses of torch's own Linear and Embedding."""
    weight = module.children.get("weight")
    if not isinstance(weight, Parameter) or len(weight.shape) != 2:
        return ""
    rows, columns = map(int, weight.shape)
    if module.class_name == "Linear":
        return f"in_features={columns}, out_features={rows}, bias={'bias' in module.children}"
    return f"{rows}, {columns}" if module.class_name == "Embedding" else ""
