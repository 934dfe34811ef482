"""Families as data: the reader of ``architectures/traced/*.json``.

A trace is recorded from the library's own constructor (``python -m tests.oracle.trace``). It has a
table of nodes, and for each class the node at its root and the guards under which it is exact::

    {"model_type": "pvt", "classes": {"PvtModel": {"root": 17, "guards": 0}}, "nodes": [...],
     "guards": [{"hidden_act": {"is": ["gelu", "relu"]}}], "defaults": {"hidden_sizes": [...]}}

A node is one of

- a tensor: the list of its sizes, or ``{"shape": [...], "buffer": true, "dtype": "I64",
  "tied": "other.name"}``
- a module: ``{"class": "PvtLayer", "in": {"name": node, ...}}``
- a list: ``{"class": "ModuleList", "count": expression, "pick": [[condition, node], ...]}``, of
  whose members each is the first node whose condition holds (null: always)
- a part: ``{"section": "vision_config", "class": "SiglipVisionModel"}``, a class of the catalog,
  written or traced, built from that section (``""``: from the config itself)
- a choice: ``{"if": condition, "then": node, "else": node or null}``
- a number: the node of that place in the table, which must stand earlier.

Expressions and conditions are those of ``arithmetic.py``. A guard that fails is a refusal that
names the key: a trace is exact or says nothing. What is malformed is refused in the same way.
``absent`` has the sections that a class takes where config.json has none, where those are not the
default of the section's own class.
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
from .modules import Layers, Module, ModuleList, Parameter

#: Ten times the nodes of the largest trace.
MAX_NODES: Final = 20_000
#: Members of one module or list, together: what one class may put out.
MAX_BUILT: Final = 200_000
_MISSING: Final = object()


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
        guards = trace["guards"][entry["guards"]]
        read = _Reading(config, name, {**trace["defaults"], **entry.get("defaults", {})})
        read.null_is_a_value = trace.get("library") == "diffusers"
        read.absent = trace.get("absent", {})
        for key, guard in guards.items():
            read.check(key, guard)
        root = _Building(read, trace, other).node(entry["root"])
    except NoValueError as error:
        raise ConfigError("config.json", f"gives {name} a size that {error}") from None
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise _malformed(name, f"is malformed ({type(error).__name__}: {error})") from None
    if not isinstance(root, Module):
        raise _malformed(name, "has no module at its root")
    return root


class _Reading:
    """A config under a trace's keys: dotted ones reach into sections."""

    def __init__(self, config: ModelConfig, name: str, defaults: Mapping[str, Written]) -> None:
        self._config = config
        self._name = name
        self._defaults = defaults
        self._sections: dict[str, ModelConfig] = {"": config}
        self._reading: list[str] = []
        #: A text that is written down as null is null, and not the default.
        self.null_is_a_value = False
        #: Dotted key of a section -> what it holds where it is not written down.
        self.absent: Mapping[str, Mapping[str, Any]] = {}

    def _place(self, key: str) -> tuple[ModelConfig, str]:
        path, _, last = key.rpartition(".")
        return self.section(path), last

    def section(self, path: str) -> ModelConfig:
        """The config of a section; an absent one as the class makes it."""
        if path not in self._sections:
            outer, name = self._place(path)
            found = outer.section(name)
            if path in self.absent and not outer.says(name):
                found = ModelConfig(self.absent[path], found.path, found.kind)
            self._sections[path] = found
        return self._sections[path]

    def given(self, key: str) -> bool:
        config, last = self._place(key)
        return config.has(last)

    def raw(self, key: str) -> Any:
        """What the config says, else the default."""
        config, last = self._place(key)
        if last == "num_labels" and config.has("num_labels", "id2label"):
            return int(config.num_labels)
        found = config.raw(last)
        if found is not None:
            return found
        default = self._defaults.get(key, _MISSING)
        if default is _MISSING or (config.says(last) and isinstance(default, bool)):
            return None  # a null that is written down is false
        kept = dict if self.null_is_a_value else (dict, str)
        if config.says(last) and default is not None and not isinstance(default, kept):
            raise self.refused(key, "null")
        if isinstance(default, dict):
            return self._computed(key, default["of"])
        return default

    def _computed(self, key: str, written: Written) -> int | float:
        if key in self._reading:
            raise NoValueError(f"is computed from itself ({key})")
        self._reading.append(key)
        found = value(written, self)
        self._reading.pop()
        return found

    def number(self, key: str) -> int | float:
        config, last = self._place(key)
        if last == "num_labels" and config.has("num_labels", "id2label"):
            return config.num_labels
        if self._reading and config.fields.raw(last) != config.raw(last):
            # Classes compute before they look at aliases; which of both they took is not recorded.
            raise self.refused(key, config.raw(last))
        if config.has(last) and isinstance(config.raw(last), float):
            return config.number(last, default=0.0)
        if config.has(last):
            return config.dim(last, minimum=0)
        found = self.raw(key)
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            raise config.missing(last)
        return found if isinstance(found, float) else config.dim(last, default=found, minimum=0)

    def items(self, key: str) -> list[Any]:
        found = self.raw(key)
        if not isinstance(found, (list, tuple)) or len(found) > MAX_COUNT:
            config, last = self._place(key)
            raise config.error(last, found, "a list")
        return list(found)

    def check(self, key: str, guard: Mapping[str, Any]) -> None:
        """Raises UnknownArchitectureError where the config leaves what the trace is exact for."""
        if guard.get("absent"):
            if self.given(key):
                raise self.refused(key, self.raw(key))
            return
        found = self.raw(key)
        if "is" in guard and not any(_same(found, allowed) for allowed in guard["is"]):
            raise self.refused(key, found)
        if "least" in guard and found is not None and self.number(key) < guard["least"]:
            raise self.refused(key, found)
        if "length" in guard and len(self.items(key)) != guard["length"]:
            raise self.refused(key, found)
        if "of" in guard and not all(
            any(_same(item, allowed) for allowed in guard["of"]) for item in self.items(key)
        ):
            raise self.refused(key, found)

    def refused(self, key: str, found: object) -> UnknownArchitectureError:
        text = repr(found)
        return UnknownArchitectureError(
            f"{self._name} with {self._config.path}{key} = {text[:60]}",
            "was not recorded",
            hint="the headers of the weights can be read, or install hfinspect[transformers]",
        )


def _same(found: object, allowed: object) -> bool:
    return found == allowed and isinstance(found, bool) == isinstance(allowed, bool)


class _Building:
    """Makes modules of nodes; a node of the table that says nothing of its place is made once."""

    def __init__(
        self, read: _Reading, trace: Mapping[str, Any], other: Callable[[str], _Build]
    ) -> None:
        nodes = trace["nodes"]
        if len(nodes) > MAX_NODES:
            raise ValueError("too many nodes")
        self._read = read
        self._builders = builders(trace, other)
        self._other = other
        self._nodes = nodes
        self._made: dict[int, Module | Parameter | None] = {}
        self._left = MAX_BUILT

    def node(self, node: Any, below: int | None = None) -> Module | Parameter | None:
        """``below``: nodes of the table may be named that stand before this one."""
        below = len(self._nodes) if below is None else below
        if isinstance(node, int):
            if not 0 <= node < below:
                raise ValueError("a node names one that does not stand before it")
            if node not in self._made:
                self._made[node] = self.node(self._nodes[node], node)
            return self._made[node]
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
            outer, key = self._read._place(path)
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
        found = tuple(value(size, self._read) for size in shape)
        if not all(isinstance(size, int) and 0 <= size <= MAX_DIM for size in found):
            raise NoValueError("is no size")
        return tuple(size for size in found if isinstance(size, int))

    def _tensor(self, node: Mapping[str, Any]) -> Parameter:
        active = node.get("active")
        pair = None
        if active is not None:
            k, n = (int(value(part, self._read)) for part in active)
            pair = (min(k, n), n) if k > 0 else None
        return Parameter(
            self._sizes(node["shape"]),
            role=Role.BUFFER if node.get("buffer") else Role.PARAMETER,
            dtype=node.get("dtype"),
            tied_to=node.get("tied"),
            component=_component(node),
            kind=node.get("kind"),
            active=pair,
        )

    def _module(self, node: Mapping[str, Any], below: int) -> Module:
        children = {str(name): self.node(child, below) for name, child in node["in"].items()}
        made = Module(
            str(node["class"]),
            children,
            component=_component(node),
            part=node.get("part"),
            kind=node.get("kind"),
        )
        made.detail = _detail(made)
        return made

    def _list(self, node: Mapping[str, Any], below: int) -> Module:
        count = value(node["count"], self._read)
        if not isinstance(count, int) or not 0 <= count <= MAX_COUNT:
            raise NoValueError("is no number of layers")
        self._left -= count
        members: list[Module] = []
        for i in range(int(count)):
            template = next(
                (n for when, n in node["pick"] if when is None or holds(when, self._read, i)), None
            )
            member = self.node(template, below)
            if not isinstance(member, Module):
                raise ValueError("a list of what is no module")
            members.append(member)
        named = str(node["class"])
        whole = count if isinstance(count, Dim) else None
        if node.get("layers"):
            return Layers(members, class_name=named, part=node.get("part"), count=whole)
        return ModuleList(
            members,
            class_name=named,
            component=_component(node),
            part=node.get("part"),
            kind=node.get("kind"),
            count=whole,
        )


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
