"""The printed structure that people know from print(model), without torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..core.components import Role
from ..core.json_form import JsonForm
from ..core.records import dataclass
from ..core.tensor import TensorSpec
from ..core.text import clean
from .modules import Module, ModuleList


def render(root: Module) -> str:
    """The tree as ``print(model)`` shows it, equal neighbours in lists folded as
    ``(0-23): 24 x BloomBlock(``."""
    return _render(root, {})


def _render(module: Module, texts: dict[int, str]) -> str:
    known = texts.get(id(module))
    if known is not None:
        return known
    class_name = clean(module.class_name)  # a config names its activation
    lines = (
        _folded(module, texts)
        if isinstance(module, ModuleList)
        else [f"({name}): {_render(child, texts)}" for name, child in _shown(module)]
    )
    if not lines:
        text = f"{class_name}({clean(module.detail)})"
    else:
        body = "\n".join(_indented(line) for line in lines)
        text = f"{class_name}(\n{body}\n)"
    texts[id(module)] = text
    return text


def _shown(module: Module) -> list[tuple[str, Module]]:
    """Children that are modules of the class; those marked as not saved stand for tensors that
    other versions wrote."""
    return [
        (name, child)
        for name, child in module.children.items()
        if isinstance(child, Module) and child.saved
    ]


def _folded(modules: ModuleList, texts: dict[int, str]) -> list[str]:
    runs: list[tuple[str, str, str]] = []
    for name, child in _shown(modules):
        text = _render(child, texts)
        if runs and runs[-1][2] == text:
            runs[-1] = (runs[-1][0], name, text)
        else:
            runs.append((name, name, text))
    return [
        f"({first}): {text}"
        if first == last
        else f"({first}-{last}): {int(last) - int(first) + 1} x {text}"
        for first, last, text in runs
    ]


@dataclass(frozen=True)
class Branch(
    JsonForm,
    without="name is_open has_more",
    names={"class_name": "class", "times": "count", "is_tied": "tied"},
):
    """One module of an outline, or equal neighbours of a list as one. ``is_open`` says whether the
    modules inside follow, ``has_more`` whether there are any.

    Fields:
        path: dotted, ``0-23`` for equal neighbours of a list; empty for the model
        class_name: its class
        detail: the arguments that ``print(model)`` shows
        times [modules]: how many equal ones the row stands for
        depth: 0 is the model; a module is inside of the last one before it of a smaller depth
        parameters [parameters]: unique ones, of all that the row stands for
        is_tied: all weights are counted at another module
    """

    path: str
    name: str
    class_name: str
    detail: str
    times: int
    depth: int
    parameters: int
    is_tied: bool
    is_open: bool
    has_more: bool

    @property
    def label(self) -> str:
        """``(0-23): 24 x BloomBlock(``, as ``print(model)`` begins it."""
        many = f"{self.times} x " if self.times > 1 else ""
        end = "(" if self.is_open else "(...)" if self.has_more else f"({self.detail})"
        return (
            f"({self.name}): {many}{self.class_name}{end}"
            if self.name
            else (f"{self.class_name}{end}")
        )


def outline(root: Module, specs: Iterable[TensorSpec], depth: int | None = None) -> list[Branch]:
    """The modules of a tree in the order of ``render``, down to ``depth`` (the root is 0), each
    with the parameters in it. ``specs`` are the tree's tensors, tied ones included."""
    counts: dict[str, int] = {}
    tied: dict[str, bool] = {}
    for spec in specs:
        if not spec.saved or spec.role is not Role.PARAMETER:
            continue
        place = spec.name
        while place:
            place = place.rpartition(".")[0]
            tied[place] = tied.get(place, True) and spec.tied_to is not None
            if spec.tied_to is None:
                counts[place] = counts.get(place, 0) + spec.parameters
    return list(_branches(root, (("", ""),), "", 0, depth, (counts, tied), {}))


def _branches(
    module: Module,
    places: tuple[tuple[str, str], ...],
    path: str,
    level: int,
    depth: int | None,
    sums: tuple[dict[str, int], dict[str, bool]],
    texts: dict[int, str],
) -> Iterator[Branch]:
    """``places`` are (name, path) of the module and its equal neighbours."""
    counts, tied = sums
    name = places[0][0] if len(places) == 1 else f"{places[0][0]}-{places[-1][0]}"
    children = _runs(module, texts)
    is_open = bool(children) and (depth is None or level < depth)
    yield Branch(
        path=path,
        name=clean(name),
        class_name=clean(module.class_name),
        detail=clean(module.detail),
        times=len(places),
        depth=level,
        parameters=sum(counts.get(place, 0) for _, place in places),
        is_tied=tied.get(places[0][1], False),
        is_open=is_open,
        has_more=bool(children),
    )
    if not is_open:
        return
    for names, child in children:
        # Each of the neighbours has the child; those in front stand for all of them.
        inner = tuple(
            (child_name, f"{place}.{child_name}" if place else child_name)
            for _, place in places
            for child_name in names
        )
        label = names[0] if len(names) == 1 else f"{names[0]}-{names[-1]}"
        below = f"{path}.{label}" if path else label
        yield from _children(child, names, inner, below, level + 1, depth, sums, texts)


def _children(
    child: Module,
    names: tuple[str, ...],
    inner: tuple[tuple[str, str], ...],
    path: str,
    level: int,
    depth: int | None,
    sums: tuple[dict[str, int], dict[str, bool]],
    texts: dict[int, str],
) -> Iterator[Branch]:
    """A child's own line says how many there are in one parent."""
    first, *rest = _branches(child, inner, path, level, depth, sums, texts)
    name = names[0] if len(names) == 1 else f"{names[0]}-{names[-1]}"
    yield replace(first, name=clean(name), times=len(names))
    yield from rest


def _runs(module: Module, texts: dict[int, str]) -> list[tuple[tuple[str, ...], Module]]:
    """Children; of a list equal neighbours together."""
    runs: list[tuple[tuple[str, ...], Module]] = []
    for name, child in _shown(module):
        alike = runs and isinstance(module, ModuleList)
        if alike and _render(runs[-1][1], texts) == _render(child, texts):
            runs[-1] = ((*runs[-1][0], name), runs[-1][1])
        else:
            runs.append(((name,), child))
    return runs


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
