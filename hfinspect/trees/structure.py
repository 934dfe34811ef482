"""The printed structure that people know from print(model), without torch."""

from __future__ import annotations

from ..core.text import clean
from .modules import Module, ModuleList


def render(root: Module) -> str:
    """The tree as ``print(model)`` shows it, equal neighbours in lists folded as
    ``(0-23): 24 x BloomBlock(``."""
    return _render(root, {})


def _render(module: Module, seen: dict[int, str]) -> str:
    known = seen.get(id(module))
    if known is not None:
        return known
    class_name = clean(module.class_name)  # a config names its activation
    lines = (
        _folded(module, seen)
        if isinstance(module, ModuleList)
        else [f"({name}): {_render(child, seen)}" for name, child in _shown(module)]
    )
    if not lines:
        text = f"{class_name}({clean(module.detail)})"
    else:
        body = "\n".join(_indented(line) for line in lines)
        text = f"{class_name}(\n{body}\n)"
    seen[id(module)] = text
    return text


def _shown(module: Module) -> list[tuple[str, Module]]:
    """Children that are modules of the class; those marked as not saved stand for tensors that
    other versions wrote."""
    return [
        (name, child)
        for name, child in module.children.items()
        if isinstance(child, Module) and child.saved
    ]


def _folded(modules: ModuleList, seen: dict[int, str]) -> list[str]:
    runs: list[tuple[str, str, str]] = []
    for name, child in _shown(modules):
        text = _render(child, seen)
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


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
