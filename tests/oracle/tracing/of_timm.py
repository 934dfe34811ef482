"""timm: models fixed by their names, of which those of one structure share a trace.

timm builds what config.json's ``architecture`` names; only the classes, the channels of the image
and sometimes its size vary.  ``family`` unites the built trees of many names into one symbolic
tree: a number in which they differ becomes a column of a table, with a row for each name; what
varies with the config becomes an expression of ``num_classes``, ``in_chans`` and the image's size.
Names that cannot be united stand under roots of their own.  Nothing is guessed: a row and the tree
give each build again, which is checked for every name.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .observing import Leaf, Node, Saved, tree

#: Classes and channels, of which every build of a name has others.
_CLASSES = (11, 13)
_CHANNELS = (3, 5)
#: More runs of equal members than this are written out one by one.
_RUNS = 9


class NoUnion(Exception):  # noqa: N818
    """Two trees are not one with other numbers."""


class Options(NamedTuple):
    """What a config of timm says that changes shapes."""

    num_classes: int
    in_chans: int
    height: int | None = None

    def config(self, name: str) -> dict[str, Any]:
        """The config.json of a repo."""
        about: dict[str, Any] = {"num_classes": self.num_classes}
        side = self.height or 224
        about["input_size"] = [self.in_chans, side, side]
        about["fixed_input_size"] = self.height is not None
        return {"architecture": name, "num_classes": self.num_classes, "pretrained_cfg": about}


class Timm:
    """timm as the judge: what its own loader of a folder builds."""

    name = "timm"

    def __init__(self) -> None:
        import timm
        import torch

        torch.set_num_threads(1)
        self.version = timm.__version__

    def about(self, name: str) -> dict[str, Any]:
        """The published config of a name."""
        from timm.models import get_pretrained_cfg

        pretrained_cfg = get_pretrained_cfg(name)
        return {} if pretrained_cfg is None else dict(pretrained_cfg.to_dict())

    def model(self, config: Mapping[str, Any]) -> Any:
        import timm
        import torch

        with tempfile.TemporaryDirectory() as folder, torch.device("meta"):
            (Path(folder) / "config.json").write_text(json.dumps(config))
            return timm.create_model(f"local-dir:{folder}", pretrained=False)

    def build(self, config: Mapping[str, Any]) -> Node:
        """The tree of what is saved."""
        model = self.model(config)
        state = dict(model.state_dict(keep_vars=True))
        if len({id(tensor) for tensor in state.values()}) < len(state):
            raise NoUnion("shares tensors")
        trained = frozenset(n for n, _ in model.named_parameters()) & state.keys()
        tensors = {
            n: (tuple(t.shape), str(t.dtype).removeprefix("torch.")) for n, t in state.items()
        }
        classes = {n: type(m).__name__ for n, m in model.named_modules()}
        return tree(Saved(tensors, {name: name for name in state}, {}, trained, classes))


class Built(NamedTuple):
    """A name, and its tree under each of the options; the last has no classes, where it builds."""

    name: str
    options: list[Options]
    trees: list[Node]
    bare: Node | None


def built(library: Timm, name: str) -> Built:
    """The builds of a name. Raises what timm raises."""
    about = library.about(name)
    fixed = bool(about.get("fixed_input_size"))
    side = about.get("input_size", (3, 224, 224))[-1] if fixed else None
    options = [
        Options(classes, channels, side)
        for classes, channels in zip(_CLASSES, _CHANNELS, strict=True)
    ]
    trees = [library.build(one.config(name)) for one in options]
    try:
        bare = library.build(Options(0, 3, side).config(name))
    except Exception:  # without classes there is no such model
        bare = None
    return Built(name, options, trees, bare)


# ---- uniting


class Columns:
    """The table: numbers in which names differ, equal ones once."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.found: dict[str, list[int | None]] = {}

    def written(self, wanted: list[int | None], hint: str) -> Any:
        """An expression that gives each name its number; None stands where it does not matter."""
        there = {v for v in wanted if v is not None}
        if len(there) <= 1:
            return next(iter(there), 1)
        for factor in (1, 2, 3, 4, 6, 8):
            for key, held in self.found.items():
                if all(
                    w is None or (h is not None and w == factor * h)
                    for w, h in zip(wanted, held, strict=True)
                ):
                    return key if factor == 1 else ["*", factor, key]
        for divisor in (2, 4, 8):
            for key, held in self.found.items():
                if all(
                    w is None or (h is not None and h % divisor == 0 and w * divisor == h)
                    for w, h in zip(wanted, held, strict=True)
                ):
                    return ["//", key, divisor]
        key = hint
        while key in self.found:
            key += "_"
        self.found[key] = wanted
        return key


class Union(NamedTuple):
    """Names under one root."""

    names: list[str]
    tree: Any
    columns: dict[str, list[int | None]]


def unite(some: Sequence[Built]) -> Union:
    """One symbolic tree for all. Raises NoUnion."""
    columns = Columns([one.name for one in some])
    root = _Uniting(some, columns).node(
        [list(one.trees) for one in some], [one.bare for one in some], ""
    )
    return Union(columns.names, root, columns.found)


class _Uniting:
    def __init__(self, some: Sequence[Built], columns: Columns) -> None:
        self.some = some
        self.columns = columns
        self.headless = all(one.bare is not None for one in some)

    def node(self, rows: list[list[Any] | None], bare: list[Any], path: str) -> Any:
        """``rows``: a name's node in each of its builds, None for a name without it here."""
        there = [row for row in rows if row is not None]
        kinds = {type(node) for row in there for node in row}
        if kinds == {Leaf}:
            return self._leaf(rows, path)
        if kinds != {Node} or len({node.class_name for row in there for node in row}) > 1:
            raise NoUnion(path)
        if all(_runs(row[0]) is not None for row in there):
            return self._list(rows, path)
        return self._children(rows, bare, path)

    def _leaf(self, rows: list[list[Leaf] | None], path: str) -> Any:
        leaves = [leaf for row in rows if row is not None for leaf in row]
        first = leaves[0]
        if len({(leaf.buffer, leaf.dtype, len(leaf.shape)) for leaf in leaves}) > 1:
            raise NoUnion(path)
        shape = []
        for axis in range(len(first.shape)):
            sizes = [None if row is None else [leaf.shape[axis] for leaf in row] for row in rows]
            shape.append(self._size(sizes, _hint(path, axis)))
        tensor: dict[str, Any] = {"shape": shape, "label": first.label}
        if first.buffer:
            tensor["buffer"] = True
        if first.dtype and first.buffer:
            tensor["dtype"] = first.dtype
        return tensor

    def _size(self, rows: list[list[int] | None], hint: str) -> Any:
        """One expression for a size over all names and builds."""
        if all(row is None or len(set(row)) == 1 for row in rows):
            return self.columns.written([None if row is None else row[0] for row in rows], hint)
        for key in ("num_classes", "in_chans"):
            factors: list[int | None] = []
            for one, row in zip(self.some, rows, strict=True):
                if row is None:
                    factors.append(None)
                    continue
                over = [getattr(option, key) for option in one.options]
                factor = row[0] // over[0]
                if row != [factor * k for k in over]:
                    break
                factors.append(factor)
            else:
                times = self.columns.written(factors, hint)
                return key if times == 1 else ["*", times, key]
        raise NoUnion(hint)

    def _children(self, rows: list[list[Node] | None], bare: list[Any], path: str) -> Any:
        there = [row for row in rows if row is not None]
        names = list(there[0][0].children)
        if any(list(node.children) != names for row in there for node in row):
            raise NoUnion(path)
        inside: dict[str, Any] = {}
        for name in names:
            below = [None if row is None else [node.children[name] for node in row] for row in rows]
            under = [b.children.get(name) if isinstance(b, Node) else b for b in bare]
            child = self.node(below, under, f"{path}.{name}" if path else name)
            inside[name] = self._headless(child, below, bare, name, path)
        module = {"class": there[0][0].class_name, "in": inside}
        return {**module, "layers": True} if there[0][0].layers else module

    def _headless(
        self, child: Any, rows: list[list[Any] | None], bare: list[Any], name: str, path: str
    ) -> Any:
        """``child`` where it is there only with classes: said so, or noted that it cannot be."""
        if not self.headless:
            return child
        held = [
            isinstance(b, Node) and name in b.children
            for row, b in zip(rows, bare, strict=True)
            if row is not None
        ]
        if all(held) or not held:
            return child
        if any(held):
            raise NoUnion(f"{path}.{name} without classes")
        if any(not isinstance(b, Node) for b in bare):
            return child  # what it stands in is absent
        return {"if": ["<", 0, "num_classes"], "then": child, "else": None}

    def _list(self, rows: list[list[Node] | None], path: str) -> Any:
        """A list of modules: runs of equal ones, each a template."""
        runs = [None if row is None else [_runs(node) or [] for node in row] for row in rows]
        there = [row for row in runs if row is not None]
        if any([n for n, _ in one] != [n for n, _ in row[0]] for row in there for one in row):
            raise NoUnion(path)  # the channels of the image change how many there are
        most = max(len(row[0]) for row in there)
        longest = max(sum(n for n, _ in row[0]) for row in there)
        picks = []
        for place in range(most):
            below = [
                None if row is None or place >= len(row[0]) else [one[place][1] for one in row]
                for row in runs
            ]
            ends = [
                None
                if row is None or place >= len(row[0]) - 1
                else sum(n for n, _ in row[0][: place + 1])
                for row in runs
            ]
            inner = self.node(below, [None] * len(rows), f"{path}.{place}")
            if place == most - 1:
                picks.append([None, inner])
                continue
            # For a name whose last run this is, any end behind it will do.
            past: list[int | None] = [longest if n is None else n for n in ends]
            end = self.columns.written(past, f"{_named(path)}_{place}_end")
            picks.append([["<", "i", end], inner])
        counts = [None if row is None else sum(n for n, _ in row[0]) for row in runs]
        first = next(row for row in rows if row is not None)[0]
        module = {
            "class": first.class_name,
            "count": self.columns.written(counts, _count_hint(path)),
            "pick": picks,
        }
        if first.layers:
            module["layers"] = True
        return module


def _runs(node: Node) -> list[tuple[int, Node]] | None:
    """The members of a list, equal neighbours once with their number; None where it is none."""
    members = node.members
    if members is None or len({member.class_name for member in members}) > 1:
        return None
    runs: list[tuple[int, Node]] = []
    for member in members:
        if runs and runs[-1][1].signature == member.signature:
            runs[-1] = (runs[-1][0] + 1, member)
        else:
            runs.append((1, member))
    return runs if len(runs) <= _RUNS else None


#: Timm's own names of what a column is first met as.
_LETTERS = {
    "blocks": "depth",
    "cls_token": "embed_dim",
    "pos_embed": "embed_dim",
    "patch_embed_proj_weight": "embed_dim",
    "stem_0_weight": "stem_width",
    "blocks_0_mlp_fc1_weight": "mlp_dim",
}


def _hint(path: str, axis: int) -> str:
    """What a column is called whose numbers are first met at a tensor's axis."""
    place = _named(path)
    if place in _LETTERS and (axis == 0) != place.endswith(("token", "embed")):
        return _LETTERS[place]
    return f"{place}_{('out', 'in', 'kernel', 'kernel')[min(axis, 3)]}"


def _count_hint(path: str) -> str:
    place = _named(path)
    return _LETTERS.get(place, f"{place}_count")


def _named(path: str) -> str:
    return re.sub(r"\W+", "_", path).strip("_") or "size"


def families(some: Sequence[Built]) -> Iterator[Union]:
    """As few unions as a first fit finds."""
    groups: list[list[Built]] = []
    made: list[Union] = []
    for one in some:
        for number, group in enumerate(groups):
            try:
                made[number] = unite([*group, one])
            except NoUnion:
                continue
            group.append(one)
            break
        else:
            groups.append([one])
            made.append(unite([one]))
    yield from made


@cache
def timm() -> Timm:
    return Timm()
