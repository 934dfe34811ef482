"""The spec of a stored tensor's name: how files spell what the tree calls otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...core.tensor import TensorSpec
from ...trees.prediction import Prediction

#: A norm's scale and shift in TensorFlow's words, and in files converted from there (bert-base).
_NORM_WORDS = {"gamma": "weight", "beta": "bias"}
#: So many names are not worth a table of all that the tree has.
_FEW = 2_000


def specs_finder(
    prediction: Prediction | None,
) -> Callable[[Sequence[str]], list[TensorSpec | None]]:
    """``spec_finder`` of many names: most are spelled as the tree spells them."""
    if prediction is None:
        return lambda names: [None] * len(names)
    find = spec_finder(prediction)
    by_name: dict[str, TensorSpec] = {}

    def find_all(names: Sequence[str]) -> list[TensorSpec | None]:
        if len(names) <= _FEW:
            return list(map(find, names))
        if not by_name:
            by_name.update((spec[0], spec) for spec in prediction.specs)
        specs = list(map(by_name.get, names))
        if all(specs):
            return specs
        return [spec or find(name) for spec, name in zip(specs, names, strict=True)]

    return find_all


def spec_finder(prediction: Prediction | None) -> Callable[[str], TensorSpec | None]:
    """Names as the tree spells them, then without and with the base model's prefix, then by the
    family's other spellings."""
    if prediction is None:
        return lambda _name: None
    in_tree = prediction.specs.find
    family = prediction.family
    prefix = f"{family.base_prefix}." if family and family.base_prefix else ""
    aliases = tuple(family.aliases.items()) if family else ()

    def find(name: str) -> TensorSpec | None:
        spec = in_tree(name)
        if spec is not None:
            return spec
        candidates = other_spellings(name, prefix, aliases)
        spec = next(filter(None, map(in_tree, candidates)), None)
        module, _, leaf = name.rpartition(".")
        if spec is None and leaf in _NORM_WORDS:
            return find(f"{module}.{_NORM_WORDS[leaf]}")
        return spec

    return find


def other_spellings(name: str, prefix: str, aliases: Iterable[tuple[str, str]]) -> Iterable[str]:
    """How the tree may spell a name, or what one begins with up to a number."""
    if prefix:
        yield name.removeprefix(prefix) if name.startswith(prefix) else prefix + name
    for old, new in aliases:
        if name.startswith(old):
            other = new + name[len(old) :]
            yield other
            if prefix:
                yield other.removeprefix(prefix) if other.startswith(prefix) else prefix + other
