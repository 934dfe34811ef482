"""From a symbolic tree to the JSON of a trace: one table of nodes, labels where they change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hfinspect.trees.arithmetic import Written
from hfinspect.trees.cache_layout import NUMBERS

#: What the number of a member is called that all in it may read, by how many such lists are around.
PLACES = ("stage", "level")


class Trace(NamedTuple):
    """A class's symbolic tree, and what stands for keys that are not written down."""

    tree: Any
    defaults: Mapping[str, Any]
    #: Sections that stand for absent ones, where these are not the section's class's own default.
    absent: Mapping[str, Any] = {}

    def as_json(self, kind: str, guards: Mapping[str, Any]) -> dict[str, Any]:
        """A trace of this class alone."""
        table = Table()
        ((name, rules),) = guards.items()
        root = table.root(self.tree, "text")
        used = table.keys | set(rules) | {key for r in rules.values() for key in r.get("needs", ())}
        return {
            "model_type": kind,
            "category": "",
            "defaults": chosen(self.defaults, used),
            "absent": dict(self.absent),
            "guards": [dict(rules)],
            "nodes": table.nodes,
            "classes": {name: {"root": root, "guards": 0}},
        }


def chosen(defaults: Mapping[str, Any], used: set[str]) -> dict[str, Any]:
    """The defaults of the keys that are read, and of those that these are computed from."""
    choices: dict[str, Any] = {}
    waiting = sorted(used)
    while waiting:
        key = waiting.pop()
        if key in choices or key not in defaults:
            continue
        default = defaults[key]
        if isinstance(default, dict) and "of" not in default:
            continue
        choices[key] = default
        if isinstance(default, dict):
            waiting += keys_of(default["of"])
    return dict(sorted(choices.items()))


def keys_of(written: Written) -> Iterator[str]:
    """The config keys in an expression, a condition or a list that is computed."""
    if isinstance(written, dict):
        yield from keys_of(written.get("count"))
        for when, entry in written["pick"]:
            yield from keys_of(when)
            yield from keys_of(entry if isinstance(entry, list) else None)
    elif isinstance(written, str):
        if written != "i" and written not in PLACES:
            yield written
    elif isinstance(written, list):
        op, *rest = written
        if op in ("is", "kind", "has"):
            rest = rest[:1]
        for part in rest:
            yield from keys_of(part)


#: What the name of a section says of the part that it describes.
_SECTIONS = {"vision": "vision", "audio": "audio", "speech": "audio", "text": "text"}


class Table:
    """Nodes, each written once."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.keys: set[str] = set()
        self._places: dict[str, int] = {}

    def root(self, tree: Any, part: str) -> int:
        return int(self._node(tree, ("other", "text", None), part))

    def _note(self, written: Written) -> Written:
        self.keys.update(keys_of(written))
        return written

    def put(self, node: Any) -> int:
        key = json.dumps(node)
        if key not in self._places:
            self._places[key] = len(self.nodes)
            self.nodes.append(node)
        return self._places[key]

    def _node(self, node: Any, above: tuple[str, str, Any], part: str = "text") -> Any:
        if node is None:
            return None
        if "if" in node:
            chosen = {
                "if": self._note(node["if"]),
                "then": self._node(node["then"], above, part),
            }
            if node["else"] is not None:
                chosen["else"] = self._node(node["else"], above, part)
            return chosen
        if "shape" in node:
            return self._leaf(node, above)
        if "section" in node:
            return self._part(node, above)
        return self.put(self._module(node, above, part))

    def _part(self, node: Any, above: tuple[str, str, Any]) -> Any:
        key = node["section"]
        part = next((part for word, part in _SECTIONS.items() if word in key), None)
        return {**node, "part": part} if key and part and part != above[1] else node

    def _leaf(self, node: Any, above: tuple[str, str, Any]) -> Any:
        component, _, kind = node["label"]
        shape = [self._note(size) for size in node["shape"]]
        leaf = {"shape": shape, **{k: v for k, v in node.items() if k not in ("shape", "label")}}
        for written in leaf.get("active", ()):
            self._note(written)
        if component != above[0]:
            leaf["as"] = component
        if kind and kind != above[2]:
            leaf["kind"] = kind
        return shape if len(leaf) == 1 else leaf

    def _module(self, node: Any, above: tuple[str, str, Any], part: str) -> Any:
        labels = list(_labels(node))
        module: dict[str, Any] = {"class": node["class"]}
        component, there, kind = above
        # What is said here would be said of a part below as well, which knows its own.
        own = not node.get("layers") and not _has_parts(node)
        components = {label[0] for label in labels}
        if len(components) == 1 and components != {component} and own:
            component = module["as"] = components.pop()
        parts = {label[1] or part for label in labels}
        if len(parts) == 1 and parts != {there} and (own or parts != {"projector"}):
            there = module["part"] = parts.pop()
        kinds = {label[2] for label in labels}
        if len(kinds) == 1 and kinds != {kind} and kinds != {None} and own:
            kind = module["kind"] = kinds.pop()
        below = (component, there, kind)
        if "count" in node:
            module["count"] = self._note(node["count"])
            module |= {field: node[field] for field in ("place", "names") if field in node}
            module["pick"] = [
                [None if when is None else self._note(when), self._node(inner, below, part)]
                for when, inner in node["pick"]
            ]
        else:
            module["in"] = {n: self._node(c, below, part) for n, c in node["in"].items()}
        for field in ("keeps", "window"):
            if field in node:
                module[field] = node[field]
        for written in _numbers_kept(node):
            self._note(written)
        if node.get("layers"):
            module["layers"] = True
        return module


def _numbers_kept(node: Any) -> Iterator[Written]:
    for row in node.get("keeps", ()):
        yield from row.get("shape", ())
        yield from (row[field] for field in NUMBERS if field in row)
    if "window" in node:
        yield node["window"]


def _has_parts(node: Any) -> bool:
    if node is None or "shape" in node:
        return False
    if "section" in node:
        return True
    if "if" in node:
        return _has_parts(node["then"]) or _has_parts(node["else"])
    if "count" in node:
        return any(_has_parts(inner) for _, inner in node["pick"])
    return any(_has_parts(inner) for inner in node["in"].values())


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The trace ``old`` with the classes of ``new`` in addition, which ``old`` lacks."""
    table = Table()
    for node in old["nodes"]:
        table.put(node)
    places: list[int] = []
    for node in new["nodes"]:
        places.append(table.put(_moved(node, places)))
    guards = list(old["guards"])
    defaults = dict(old["defaults"])
    differing = {k: v for k, v in new["defaults"].items() if defaults.setdefault(k, v) != v}
    classes = dict(old["classes"])
    for name, entry in new["classes"].items():
        roots = [
            _entry(root, places, new["guards"], guards, differing)
            for root in (entry, *entry.get("or", ()))
        ]
        classes[name] = {**roots[0], "or": roots[1:]} if roots[1:] else roots[0]
    absent = {**new.get("absent", {}), **old.get("absent", {})}
    trace = {
        **old,
        "classes": classes,
        "guards": guards,
        "defaults": dict(sorted(defaults.items())),
    }
    return {**trace, **({"absent": absent} if absent else {}), "nodes": table.nodes}


def _entry(
    root: Mapping[str, Any],
    places: list[int],
    own: list[Any],
    guards: list[Any],
    differing: Mapping[str, Any],
) -> dict[str, Any]:
    """A root of a class in another trace, whose ``guards`` get those of the root."""
    rules = own[root["guards"]]
    if rules not in guards:
        guards.append(rules)
    others = {**differing, **root.get("defaults", {})}
    entry = {k: v for k, v in root.items() if k not in ("defaults", "or")}
    entry |= {"root": places[root["root"]], "guards": guards.index(rules)}
    return {**entry, "defaults": others} if others else entry


def _moved(node: Any, places: list[int]) -> Any:
    """A node that names others by their places in another table."""
    if isinstance(node, int):
        return places[node]
    if isinstance(node, dict) and "in" in node:
        return {**node, "in": {name: _moved(inner, places) for name, inner in node["in"].items()}}
    if isinstance(node, dict) and "pick" in node:
        return {**node, "pick": [[when, _moved(inner, places)] for when, inner in node["pick"]]}
    if isinstance(node, dict) and "if" in node:
        sides = {k: _moved(node[k], places) for k in ("then", "else") if node.get(k) is not None}
        return {**node, **sides}
    return node


def _labels(node: Any) -> Iterator[tuple[str, str, Any]]:
    if node is None or "section" in node:
        return
    if "if" in node:
        yield from _labels(node["then"])
        yield from _labels(node["else"])
    elif "shape" in node:
        yield node["label"]
    elif "count" in node:
        for _, inner in node["pick"]:
            yield from _labels(inner)
    else:
        for inner in node["in"].values():
            yield from _labels(inner)


def text(trace: Mapping[str, Any]) -> str:
    """The file's text: a node, a guard and a class each on a line."""
    parts = []
    for key, held in trace.items():
        if isinstance(held, list) and held:
            body = ",\n".join(json.dumps(item, separators=(",", ":")) for item in held)
            parts.append(f"{json.dumps(key)}: [\n{body}\n]")
        elif isinstance(held, dict) and held:
            body = ",\n".join(
                f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in held.items()
            )
            parts.append(f"{json.dumps(key)}: {{\n{body}\n}}")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(held)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
