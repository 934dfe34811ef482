"""The same model by other conventions: what people mean when they name a size."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.explanation import Candidate
from .conventions import ways_of
from .derivation import Derivation
from .ways import Way

#: Names of single conventions that make a count of their own.
_USUAL = ("head-apart", "no-embeddings", "no-biases", "no-norms", "active-only", "one-expert")


def counts_of(d: Derivation) -> tuple[Candidate, ...]:
    """The exact count first, then others in the order in which names of models use them."""
    exact = d.polynomial.value
    every = ways_of(d)
    ways = {way.name: way for way in reversed(every)}
    found = [Candidate("every parameter once", exact)]
    found += [_candidate(ways["head-apart"], exact)] if "head-apart" in ways else []
    found += _base_model(d, every, ways.get("with-pooler"))
    found += [_candidate(ways[name], exact) for name in _USUAL[1:] if name in ways]
    return tuple(found)


def _candidate(way: Way, exact: int) -> Candidate:
    return Candidate(way.text, exact + way.delta.value)


def _base_model(d: Derivation, ways: Sequence[Way], pooler: Way | None) -> list[Candidate]:
    """Without the heads, and with the pooler where the family's base model has one."""
    heads = [way.delta.value for way in ways if way.name == "no-head"]
    poolers = [way.delta.value for way in ways if way.name == "no-pooler"]
    base = d.polynomial.value + sum(heads)
    found = []
    if poolers or heads:
        what = " and ".join(name for name, some in (("head", heads), ("pooler", poolers)) if some)
        found.append(Candidate(f"without {what}", base + sum(poolers)))
    if poolers and heads:
        found.append(Candidate("the base model with its pooler", base))
    if pooler is not None:
        whole = base + pooler.delta.value
        found.append(Candidate("the base model with its pooler", whole))
    return found
