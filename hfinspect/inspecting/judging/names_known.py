"""Tensors of the class under names that its loader does not know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...core.wholeness import Problem
from .evidence import Evidence

if TYPE_CHECKING:
    from ...analysis.renamed import Renamed


def other_names(evidence: Evidence, renamed: Renamed) -> Iterator[Problem]:
    """One problem for all tensors with the names of wrappers. Without a config nothing says who
    is to load them, so that it is a warning."""
    expectation = evidence.expectation
    complete = expectation is not None and not (expectation.missing or expectation.reshaped)
    own = renamed.total - renamed.beside
    count = renamed.tensors
    tensors = f"all {own:,} tensors" if count == own else f"{count:,} of {own:,} tensors"
    text = f"{tensors} {'is' if count == 1 else 'are'} {_by(renamed)}"
    yield Problem(
        "other_names",
        f"complete, but {text}" if complete else text,
        count,
        renamed.names[0],
        _cause(evidence),
        "; ".join(dict.fromkeys(wrapper.remedy for wrapper in renamed.wrappers)),
        severity="warning" if evidence.prediction is None else "error",
        names=renamed.names,
    )


def _by(renamed: Renamed) -> str:
    """Who named them: ``named by torch.compile (_orig_mod.)``."""
    makers: dict[str, list[str]] = {}
    for wrapper in renamed.wrappers:
        makers.setdefault(wrapper.maker or "nobody known", []).append(wrapper.prefix)
    shown = [f"{maker} ({', '.join(prefixes)})" for maker, prefixes in makers.items()]
    return "named by " + " and ".join(shown)


def _cause(evidence: Evidence) -> str:
    prediction = evidence.prediction
    if prediction is None:
        return "loaders do not know such names"
    if prediction.family is None or prediction.family.source == "transformers":
        return "transformers does not know such names and keeps random weights"
    return "the loader of its class does not know such names"
