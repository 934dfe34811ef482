"""One build of a class: the tree of what would be saved, in the saved file's names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hfinspect.analysis.labels.context import labeller
from hfinspect.core.components import Component

_MAP = re.compile(r"stem$|stage[1-9]\d?$")
#: The dtype of a buffer that is F32 in models of any dtype.
ALWAYS = "always float32"
_DTYPES = {
    "float64": "F64",
    "complex64": "C64",
    "int64": "I64",
    "int32": "I32",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
    "float16": "F16",
    "bfloat16": "BF16",
    ALWAYS: "F32",
}


class Leaf(NamedTuple):
    """A tensor. ``active`` is (k, n) of an expert's, where that is known; ``label`` is (component,
    part, kind), which no comparison looks at: a part that nothing says is empty, and then what
    the family is for; ``saved`` is false of what only older files hold."""

    shape: tuple[int, ...]
    buffer: bool
    dtype: str | None
    tied: str | None
    active: tuple[int, int] | None
    label: tuple[str, str, str | None]
    saved: bool = True

    @property
    def signature(self) -> Any:
        return (*self[:5], self.saved)

    @property
    def labels(self) -> Any:
        return self.label


class Part(NamedTuple):
    """A module that is a class of the catalog built from a section (``key``; empty: the config
    itself).  No comparison looks at what is inside."""

    key: str
    class_name: str
    whole: Node

    @property
    def signature(self) -> Any:
        return ("part", self.key, self.class_name)

    @property
    def labels(self) -> Any:
        return None


class Kept(NamedTuple):
    """What is known of a module between tokens. ``keeps``: a row of (field, value) for each tensor,
    None where nothing is known; ``window``: how far back the layer looks."""

    cache: tuple[tuple[tuple[str, Any], ...], ...] | None = None
    window: int | None = None


class Node:
    """A module: class name and children; ``layers`` where its members are numbered as layers;
    ``kept``: what it is known to keep between tokens (``Kept``); ``partial`` of a root: only names
    and shapes are known (``Saved``)."""

    __slots__ = ("_labels", "_signature", "children", "class_name", "kept", "layers", "partial")

    def __init__(self, class_name: str) -> None:
        self.class_name = class_name
        self.children: dict[str, Node | Leaf | Part] = {}
        self.layers = False
        self.kept: Kept = Kept()
        self.partial = False
        self._signature: Any = None
        self._labels: Any = None

    @property
    def signature(self) -> Any:
        """Equal for equal subtrees. Not to be taken before the tree is complete."""
        if self._signature is None:
            whole = (
                self.class_name,
                self.kept,
                tuple((name, child.signature) for name, child in self.children.items()),
            )
            self._signature = hash(whole)
        return self._signature

    @property
    def labels(self) -> Any:
        """What the tensors below are for."""
        if self._labels is None:
            below = tuple((n, child.labels) for n, child in self.children.items())
            self._labels = hash((self.layers, below))
        return self._labels

    @property
    def is_older(self) -> bool:
        """Whether it holds what only older files do."""
        return bool(self.children) and all(
            isinstance(child, Leaf) and not child.saved for child in self.children.values()
        )

    @property
    def is_numbered(self) -> bool:
        """Whether it has modules alone, each under a number; some may be missing, as of ReLU."""
        return all(
            name.isdecimal() and isinstance(child, Node) for name, child in self.children.items()
        )

    @property
    def maps(self) -> bool:
        """Whether its members are called as the maps are that a backbone hands on."""
        return self.class_name == "ModuleDict" and all(_MAP.match(n) for n in self.children)

    @property
    def members(self) -> list[Node] | None:
        """The members of a list of modules numbered from 0, or None."""
        names = self.children.keys()
        if not names or not all(isinstance(child, Node) for child in self.children.values()):
            return None
        if set(names) != {str(i) for i in range(len(names))}:
            return None
        return [self.children[str(i)] for i in range(len(names))]  # type: ignore[misc]


class Older(NamedTuple):
    """A tensor of older files: of a module, by its class where that is known, that may save nothing
    else."""

    shape: tuple[int, ...]
    dtype: str | None
    label: tuple[str, str, str | None]
    buffer: bool = True
    class_name: str = ""


class Saved(NamedTuple):
    """What a library's seam gives of one model: saved name -> tensor (shape, dtype), the module's
    own name of it where it is one, ties (name left out -> name kept), names of parameters,
    classes of modules by their own path; ``parts``: own path -> (dotted key, class) of each model
    in it that is built from a section, or from the config itself (key empty); ``labels``: saved
    name -> (component, part, kind), where more is known of it than its name says; ``active``:
    saved name -> (k, n) of the tensors of which k in n serve a token; ``unsaved``: name -> what
    older files hold and the library no longer saves; ``kept``: path of a module
    among the saved names -> what it keeps; ``partial``: what other builds have of these last four
    is not known of this one."""

    tensors: Mapping[str, tuple[tuple[int, ...], str]]
    own: Mapping[str, str]
    tied: Mapping[str, str]
    trained: frozenset[str]
    classes: Mapping[str, str]
    parts: Mapping[str, tuple[str, str]] = {}
    labels: Mapping[str, tuple[str, str, str | None]] = {}
    active: Mapping[str, tuple[int, int]] = {}
    unsaved: Mapping[str, Older] = {}
    kept: Mapping[str, Kept] = {}
    partial: bool = False


def tree(saved: Saved) -> Node:
    """The modules of the saved names, with labels."""
    label = labeller((name, shape) for name, (shape, _) in saved.tensors.items())
    root = Node(saved.classes[""])
    root.partial = saved.partial
    lists: dict[str, bool] = {}
    places: dict[str, Node] = {"": root}
    for name, (shape, dtype) in saved.tensors.items():
        segments = name.split(".")
        classes = _classes(segments, saved.own.get(name, ""), saved.classes)
        path = ""
        node = root
        name_labels = label(name)
        for depth, segment in enumerate(segments[:-1]):
            path = f"{path}.{segment}" if path else segment
            inner = places.get(path)
            if inner is None:
                inner = places[path] = Node(classes[depth])
                node.children[segment] = inner
            elif inner.class_name == "Module":
                inner.class_name = classes[depth]
            node = inner
        if name_labels.position is not None:
            lists[".".join(segments[: name_labels.position])] = True
        is_buffer = name not in saved.trained
        node.children[segments[-1]] = Leaf(
            tuple(shape),
            is_buffer,
            _DTYPES.get(dtype),
            saved.tied.get(name),
            saved.active.get(name),
            saved.labels.get(name)
            or (
                name_labels.component.value,
                "" if name_labels.part == "text" else name_labels.part,
                _kind(segments, name_labels.component),
            ),
        )
    for path in lists:
        if path in places and places[path].is_numbered:
            places[path].layers = True
    for name, kind in saved.classes.items():
        path, _, last = name.rpartition(".")
        if ("Rotary" in kind or "Sinusoid" in kind) and path in places:
            places[path].children.setdefault(last, Node(kind))  # explained, though nothing is saved
    for name, older in saved.unsaved.items():
        path, _, last = name.rpartition(".")
        outer, _, inner_name = path.rpartition(".")
        if path not in places and outer in places and older.class_name:
            places[path] = Node(older.class_name)
            places[outer].children[inner_name] = places[path]
        elif not older.buffer:
            continue  # the reader knows of those next to what is saved
        if path in places:
            places[path].children[last] = Leaf(
                older.shape,
                older.buffer,
                older.dtype if older.buffer else None,
                None,
                None,
                older.label,
                saved=False,
            )
    for path, kept in saved.kept.items():
        places[path].kept = kept
    return root


def paths(node: Node, prefix: str = "") -> Iterator[tuple[str, Node]]:
    """Every module below, outer ones first."""
    for name, child in node.children.items():
        if isinstance(child, Node):
            yield prefix + name, child
            yield from paths(child, f"{prefix}{name}.")


def put(root: Node, path: str, part: Part) -> None:
    """The part in place of the module at a path."""
    *outer, last = path.split(".")
    node: Any = root
    for name in outer:
        node = node.children[name]
    node.children[last] = part


def flat(node: Node, prefix: str = "") -> dict[str, tuple[int, ...]]:
    """Name -> shape of what a save holds."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, child in node.children.items():
        if isinstance(child, Part):
            shapes.update(flat(child.whole, f"{prefix}{name}."))
        elif isinstance(child, Node):
            shapes.update(flat(child, f"{prefix}{name}."))
        elif child.saved and child.tied is None:
            shapes[prefix + name] = child.shape
    return shapes


def served(node: Node, prefix: str = "") -> dict[str, tuple[int, int]]:
    """Name -> (k, n) of the tensors of which it is known."""
    counts: dict[str, tuple[int, int]] = {}
    for name, child in node.children.items():
        if isinstance(child, Part):
            counts.update(served(child.whole, f"{prefix}{name}."))
        elif isinstance(child, Node):
            counts.update(served(child, f"{prefix}{name}."))
        elif child.active is not None:
            counts[prefix + name] = child.active
    return counts


def _classes(segments: list[str], own: str, classes: Mapping[str, str]) -> list[str]:
    """The class of each module that a saved name goes through; ``Module`` where the file's
    nesting is not the model's."""
    there = own.split(".") if own else []
    class_names = ["Module"] * (len(segments) - 1)
    for depth in range(min(len(segments), len(there)) - 1):
        if segments[: depth + 1] != there[: depth + 1]:
            break
        class_names[depth] = classes.get(".".join(there[: depth + 1]), "Module")
    for back in range(2, min(len(segments), len(there)) + 1):
        here = len(segments) - back
        if class_names[here] == "Module":
            class_names[here] = classes.get(".".join(there[: len(there) - back + 1]), "Module")
        if segments[here] != there[len(there) - back]:
            break
    return class_names


_ATTENTION = {
    "q_proj": "query",
    "query": "query",
    "q": "query",
    "wq": "query",
    "q_lin": "query",
    "k_proj": "key",
    "key": "key",
    "k": "key",
    "wk": "key",
    "k_lin": "key",
    "v_proj": "value",
    "value": "value",
    "v": "value",
    "wv": "value",
    "v_lin": "value",
    "o_proj": "output",
    "out_proj": "output",
    "wo": "output",
    "out_lin": "output",
    "to_q": "query",
    "to_k": "key",
    "to_v": "value",
    "to_out": "output",
    "projection_layer": "output",
    "attn.proj": "output",
    "qkv": "qkv",
    "qkv_proj": "qkv",
    "kv": "key_value",
    "in_proj": "qkv",
}
_EMBEDDING = {
    "word_embeddings": "token",
    "embed_tokens": "token",
    "token_embedding": "token",
    "position_embeddings": "position",
    "position_embedding": "position",
    "pos_embed": "position",
    "embed_positions": "position",
    "token_type_embeddings": "segment",
    "cls_token": "class_token",
    "mask_token": "mask_token",
    "register_tokens": "register_token",
    "patch_embedding": "patch",
    "patch_embeddings": "patch",
    "patch_embed": "patch",
}
_MLP = {
    "fc1": "up",
    "fc2": "down",
    "up_proj": "up",
    "down_proj": "down",
    "gate_proj": "gate",
    "gate_up_proj": "gate_up",
    "wi": "up",
    "w1": "gate",
    "w3": "up",
    "w2": "down",
    "linear_fc1": "up",
    "linear_fc2": "down",
}
_HEAD = {"lm_head": "lm_head", "classifier": "classifier", "pooler": "pooler"}
_KINDS = {
    Component.ATTENTION: _ATTENTION,
    Component.EMBEDDING: _EMBEDDING,
    Component.MLP: _MLP,
    Component.HEAD: _HEAD,
}


def _kind(segments: list[str], component: Component) -> str | None:
    """The finer kind that the innermost segments name."""
    table = _KINDS.get(component, {})
    words = [*reversed(segments[-3:]), ".".join(segments[-3:-1])]
    return next((table[word] for word in words if word in table), None)
