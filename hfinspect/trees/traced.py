"""Families as data: the reader of ``architectures/traced/*.json``.

A trace is recorded from the library's own constructor (``python -m tests.oracle.trace``). It has a
table of nodes, and for each class the node at its root and the guards under which it is exact::

    {"model_type": "pvt", "classes": {"PvtModel": {"root": 17, "guards": 0}}, "nodes": [...],
     "guards": [{"hidden_act": {"is": ["gelu", "relu"]}}], "defaults": {"hidden_sizes": [...]}}

A node is one of

- a tensor: the list of its sizes, or ``{"shape": [...], "buffer": true, "dtype": "I64",
  "tied": "other.name"}``; with ``"saved": false`` a buffer that only older files hold
- a module: ``{"class": "PvtLayer", "in": {"name": node, ...}}``
  which may say what it keeps between tokens, ``"keeps": [{"key": ..., "value": ...}, ...]``
  (``keeps.py``), and as a layer how far back it looks, ``"window": expression``
- a list: ``{"class": "ModuleList", "count": expression, "pick": [[condition, node], ...]}``, of
  whose members each is the first node whose condition holds (null: always); with
  ``"place": "stage"`` all that is inside may read ``stage``, the number of the member: a list of
  stages, each with its own entry of the config's lists; with ``"names": true`` the members are
  called stem, stage1, ... and those of which no condition holds are left out
- a part: ``{"section": "vision_config", "class": "SiglipVisionModel"}``, a class of the catalog,
  written or traced, built from that section (``""``: from the config itself)
- a choice: ``{"if": condition, "then": node, "else": node or null}``
- a number: the node of that place in the table, which must stand earlier.

A class with ``"cache"`` has shown what its layers keep (``python -m tests.oracle.record_caches
--traced``): what the kinds of their projections say, or with ``"like"`` what the layers of another
family keep that is built from a section. Of any other class it is not known::

    "cache": {"like": {"section": "text_config", "class": "LlamaModel",
                       "layers": "language_model.layers"}, "static": false, "generates": true}

Expressions and conditions are those of ``arithmetic.py``. A guard that fails is a refusal that
names the key: a trace is exact or says nothing. What is malformed is refused in the same way.
A default is a value, ``{"of": expression}``, or ``{"of": {"count": ..., "pick": ...}}`` of a list
whose entries are texts, numbers or expressions, or without count of the one value that is chosen.
``absent`` has the sections that a class takes where config.json has none, where those are not the
default of the section's own class.
A class may have further roots, each with guards of its own, under ``"or"``: configs that differ in
more than numbers (four levels in place of one). The first whose guards hold is taken.
``also`` are further model types of the same classes, ``aliases`` prefixes of other spellings that
files have (``Family`` in ``catalog.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from ..core.components import Component, Role
from ..core.config import MAX_COUNT, MAX_DIM, ModelConfig
from ..core.dims import Dim
from ..errors import ConfigError, UnknownArchitectureError
from .arithmetic import NoValueError, Written, holds, value
from .guarded import Reading
from .handed_on import stage_names
from .keeps import Unknown, kept
from .modules import Layers, Module, ModuleList, Parameter, each_module
from .older_files import older_names

#: Ten times the nodes of the largest trace.
MAX_NODES: Final = 20_000
#: Roots of one class: twice as many as any has.
MAX_ROOTS: Final = 32
#: Members of one module or list, together: what one class may put out.
MAX_BUILT: Final = 200_000
#: Tensors that one module says to keep: twice as many as any does.
MAX_KEPT: Final = 16
#: Of layers whose recorded cache is not what the kinds of their projections say, or not recorded.
_NOT_SHOWN: Final = (Unknown("what its layers keep is not recorded"),)

#: What builds a class from a config.
_Build = Callable[[ModelConfig], Module]


def _no_other(name: str) -> _Build:
    raise ValueError(f"{name} is no class of the trace")


def builders(
    trace: Mapping[str, Any], other: Callable[[str], _Build] = _no_other
) -> dict[str, _Build]:
    """Class -> what builds its tree from a config; ``other`` gives that of a class of the catalog.

    A builder raises UnknownArchitectureError where a guard does not hold, and ConfigError.
    """
    return {str(name): partial(_built, trace, other, name) for name in trace["classes"]}


def _malformed(where: str, problem: str) -> UnknownArchitectureError:
    return UnknownArchitectureError(f"the trace {where}", problem, hint="record it again")


def _built(
    trace: Mapping[str, Any], other: Callable[[str], _Build], name: str, config: ModelConfig
) -> Module:
    """The module tree of one class at a config."""
    try:
        entry = trace["classes"][name]
        reads = [
            Reading(config, name, trace, root)
            for root in (entry, *entry.get("or", ())[: MAX_ROOTS - 1])
        ]
        # Where no root's guards hold, the refusal is that of the root which lacks least.
        failing = ((read.failing(), read) for read in reads)
        errors, read = min(failing, key=lambda both: len(both[0]))
        if errors:
            raise errors[0]
        cache = entry.get("cache")
        root = _Building(read, trace, other, cache).node(read.entry["root"])
        if cache and "like" in cache and isinstance(root, Module):
            _keep_like(root, config, cache["like"], other)
    except NoValueError as error:
        raise ConfigError(
            "config.json", f"gives {name} a size that {error}", where=error.key, key=error.key
        ) from None
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise _malformed(name, f"is malformed ({type(error).__name__}: {error})") from None
    if not isinstance(root, Module):
        raise _malformed(name, "has no module at its root")
    return root


def _keep_like(
    root: Module, config: ModelConfig, like: Mapping[str, Any], other: Callable[[str], _Build]
) -> None:
    """The layers at a path keep what those of the section's own model keep."""
    model = other(str(like["class"]))(config.section(str(like["section"])))
    place = root
    for name in str(like["layers"]).split("."):
        inner = place.children[name]
        if not isinstance(inner, Module):
            raise ValueError("a cache of what is no module")
        place = inner
    found = next(part for part in each_module(model) if isinstance(part, Layers))
    if not isinstance(place, Layers) or len(place.children) != len(found.children):
        raise ValueError("layers that are not those of the section")
    place.like = found


class _Building:
    """Makes modules of nodes; a node of the table that says nothing of its place is made once."""

    def __init__(
        self, read: Reading, trace: Mapping[str, Any], other: Callable[[str], _Build],
        cache: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        nodes = trace["nodes"]
        if len(nodes) > MAX_NODES:
            raise ValueError("too many nodes")
        self._read = read
        self._builders = builders(trace, other)
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
            made = node, *self._read.places.items()
            if made not in self._made:
                self._made[made] = self.node(self._nodes[node], node)
            return self._made[made]
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
        name, path = str(node["class"]), str(node["section"])
        if path:
            outer, key = self._read.place(path)
            if outer.says(key) and outer.raw(key) is None:
                raise self._read.refused(path, None)
        build = self._builders.get(name) or self._other(name)
        made = build(self._read.section(path))
        made.scope = True
        made.part = node.get("part") or made.part
        return made

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
            found = value(written, self._read)
            if not isinstance(found, int) or not 0 <= found <= most:
                raise NoValueError(f"is no {what}")
        except NoValueError as error:
            error.key = error.key or self._read.first_given(written)
            raise
        return found

    def _tensor(self, node: Mapping[str, Any]) -> Parameter:
        active = node.get("active")
        pair = None
        if active is not None:
            k, n = (int(value(part, self._read)) for part in active)
            pair = (min(k, n), n) if k > 0 else None
        if not isinstance(node.get("tied", ""), str):
            raise ValueError("a tie to what is no name")
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
        made = Module(
            str(node["class"]),
            children,
            component=_component(node),
            part=node.get("part"),
            kind=node.get("kind"),
        )
        made.detail = _detail(made)
        for name, older in older_names(made).items():
            made.children.setdefault(name, older)  # unless the trace has it itself
        if "keeps" in node:
            made.keeps = tuple(kept(said, self._size) for said in node["keeps"][:MAX_KEPT])
        if "window" in node:
            self._windows[id(made)] = self._size(node["window"])
        return made

    def _list(self, node: Mapping[str, Any], below: int) -> Module:
        count = self._count(node["count"], MAX_COUNT, "number of layers")
        self._left -= count
        numbered = [self._member(node, i, below) for i in range(int(count))]
        self._read.places.pop(str(node.get("place")), None)
        named = str(node["class"])
        members = [member for member in numbered if member is not None]
        if node.get("names"):
            by_name = zip(stage_names(int(count) - 1), numbered, strict=True)
            return Module(
                named,
                {name: member for name, member in by_name if member is not None},
                component=_component(node),
                part=node.get("part"),
                kind=node.get("kind"),
            )
        if len(members) < count:
            raise ValueError("a list that lacks a member")
        whole = count if isinstance(count, Dim) else None
        if node.get("layers"):
            if self._cache is None:
                for member in members:
                    member.keeps = _NOT_SHOWN
            made = Layers(members, class_name=named, part=node.get("part"), count=whole)
            made.static = self._cache is None or self._cache.get("static", True)
            looks = [self._windows.get(id(member)) for member in members]
            if any(window is not None for window in looks):
                made.windows = lambda count: looks[:count]
            return made
        return ModuleList(
            members,
            class_name=named,
            component=_component(node),
            part=node.get("part"),
            kind=node.get("kind"),
            count=whole,
        )

    def _member(self, node: Mapping[str, Any], i: int, below: int) -> Module | None:
        """A member of a list: what the first condition that holds there says."""
        if "place" in node:
            self._read.places[str(node["place"])] = i
        for when, template in node["pick"]:
            if when is None or holds(when, self._read, i):
                member = self.node(template, below)
                if not isinstance(member, Module):
                    raise ValueError("a list of what is no module")
                return member
        return None


def _component(node: Mapping[str, Any]) -> Component | None:
    named = node.get("as")
    return None if named is None else Component(named)


def _detail(module: Module) -> str:
    """What stands between the parentheses of torch's own Linear and Embedding."""
    weight = module.children.get("weight")
    if not isinstance(weight, Parameter) or len(weight.shape) != 2:
        return ""
    rows, columns = map(int, weight.shape)
    if module.class_name == "Linear":
        return f"in_features={columns}, out_features={rows}, bias={'bias' in module.children}"
    return f"{rows}, {columns}" if module.class_name == "Embedding" else ""
