"""Classes put together from parts: what stands on the lines of their ``__init__``.

A family writes most classes as attribute name -> part, over configs completed by its own defaults;
a family that differs from another in nothing but the name renames it.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

from ..trees import Builder, Layers, Linear, ModelConfig, Module, Parameter, each_module
from ..trees.catalog import find_type

#: A part of a class: what stands on one line of its ``__init__``.
FormPart = Callable[[ModelConfig], "Module | Parameter | None"]
#: What the ``__init__`` of a class makes: attribute name -> part.
Form = Mapping[str, FormPart]
#: Ending of a class name -> what its ``__init__`` makes.
Forms = Mapping[str, Form]


def composed(
    classes: Mapping[str, Builder | Form], *, part: str | None = None, scope: bool = False
) -> dict[str, Builder]:
    """Class name -> builder, where a class may be written as what its ``__init__`` makes, in
    order: attribute name -> part.  ``part`` is the report's: text unless said; ``scope``: ties
    within it are named from it."""

    def build(name: str, parts_of: Form) -> Builder:
        return lambda c: Module(
            name, {at: make(c) for at, make in parts_of.items()}, part=part, scope=scope
        )

    return {
        name: build(name, form) if isinstance(form, Mapping) else form
        for name, form in classes.items()
    }


def composed_of(
    parts: Mapping[str, FormPart], classes: Mapping[str, Sequence[str]], *, part: str | None = None
) -> dict[str, Builder]:
    """The same, where each class lists the names of those ``parts`` that it has."""
    forms = {name: {at: parts[at] for at in names} for name, names in classes.items()}
    return composed(forms, part=part)


Classes = Mapping[str, Builder]


def with_defaults(
    defaults: Mapping[str, Any],
    classes: Mapping[str, Builder],
    *,
    synonyms: Mapping[str, str] | None = None,
) -> dict[str, Builder]:
    """The same classes over configs completed by the family's own defaults, where nothing stands
    under a key nor under its other spelling: ``synonyms`` maps the latter to keys."""
    keys = synonyms or {}

    def completed(build: Builder) -> Builder:
        def over(c: ModelConfig) -> Module:
            spelled = {key: c.raw(key, word) for word, key in keys.items() if c.has(word)}
            return build(c.with_defaults(**{**defaults, **spelled}))

        return over

    return {name: completed(build) for name, build in classes.items()}


def defaulted(defaults: Mapping[str, Any], build: Builder) -> Builder:
    """The same for one class, of a type that has no other."""
    return lambda c: build(c.with_defaults(**defaults))


def changed(
    classes: Mapping[str, Builder], change: Callable[[ModelConfig, Module], object]
) -> dict[str, Builder]:
    """The same classes, of which ``change`` alters what is built, in place."""

    def over(build: Builder) -> Builder:
        def changed(c: ModelConfig) -> Module:
            root = build(c)
            change(c, root)
            return root

        return changed

    return {name: over(build) for name, build in classes.items()}


def either(plain: Classes, kind: str, means: Callable[[ModelConfig], bool]) -> dict[str, Builder]:
    """The ``plain`` classes; of a config that ``means`` them those of the model_type ``kind``."""

    def chosen(name: str, build: Builder) -> Builder:
        def build_either(c: ModelConfig) -> Module:
            family = find_type(kind) if means(c) else None
            return (family.classes.get(name, build) if family else build)(c)

        return build_either

    return {name: chosen(name, build) for name, build in plain.items()}


def renamed_classes(classes: Mapping[str, Builder], old: str, new: str) -> dict[str, Builder]:
    """The same classes under another prefix: for models that differ in nothing but the name."""
    renaming = changed(classes, lambda _, root: renamed(root, old, new))
    return {new + name.removeprefix(old): build for name, build in renaming.items()}


def without_static_cache(classes: Mapping[str, Builder]) -> dict[str, Builder]:
    """The same classes, which transformers cannot run with a StaticCache: their masks are as long
    as the tokens, or their cache is of a class of its own."""

    def mark(_: ModelConfig, root: Module) -> None:
        for module in each_module(root):
            if isinstance(module, Layers):
                module.static = False

    return changed(classes, mark)


def renamed(root: Module, old: str, new: str) -> Module:
    """``root`` with class names that begin with ``old`` beginning with ``new``, in place."""
    for module in each_module(root):
        if module.class_name.startswith(old):
            module.class_name = new + module.class_name.removeprefix(old)
    return root


def tied_to(module: Module, at: str | None, only: Collection[str] | None = None) -> Module:
    """The same module with every tensor tied to the one of that name below ``at``, or none without;
    ``only`` lists the last names of those that are, where not all."""
    if not at:
        return module
    twin = copy.copy(module)
    twin.children = {}
    for name, child in module.children.items():
        if isinstance(child, Module):
            twin.children[name] = tied_to(child, f"{at}.{name}", only)
        else:
            tied = only is None or name in only
            twin.children[name] = replace(child, tied_to=f"{at}.{name}") if tied else child
    return twin


def respelled(root: Module, names: Mapping[str, str], made_class: str = "Sequential") -> Module:
    """``root`` whose children named like a key of ``names`` have the name under it, at every depth,
    in place: files of a composite may keep the first release's names, where a save of the tower
    alone has those of its attributes. A name with dots makes the modules on its ``made_class``."""
    for module in list(each_module(root)):  # not those that a name with dots makes
        _respell(module, names, made_class)
    return root


def joined(root: Module, names: Sequence[str], name: str, kind: str) -> Module:
    """``root`` whose linears ``names`` of one input are one matrix ``name``, first in its module,
    at every depth, in place."""
    for module in each_module(root):
        apart = [module.children.pop(each, None) for each in names]
        if isinstance(apart[0], Module):
            shapes = [part.tensor().shape for part in apart if isinstance(part, Module)]
            rows = Counter(size for size, _ in shapes)
            outputs = reduce(add, (n * size if n > 1 else size for size, n in rows.items()))
            both = Linear(shapes[0][1], outputs, "bias" in apart[0].children, kind=kind)
            both.component = apart[0].component or module.component
            module.children = {name: both, **module.children}
    return root


def respelled_classes(
    root: Module, names: Mapping[str, Mapping[str, str]], prefix: str = ""
) -> Module:
    """The same with names for each class, which ``names`` lists without its ``prefix``."""
    for module in list(each_module(root)):
        _respell(module, names.get(module.class_name.removeprefix(prefix), {}))
    return root


def _respell(module: Module, names: Mapping[str, str], made_class: str = "Sequential") -> None:
    children: dict[str, Module | Parameter] = {}
    for name, child in module.children.items():
        *path, last = names.get(name, name).split(".")
        at = children
        for step in path:
            inner = at.setdefault(step, Module(made_class))
            assert isinstance(inner, Module)
            at = inner.children
        at[last] = child
    module.children = children
