"""Tensors of the class under names that its loader does not know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...checkpoints.filenames import FileKind, weight_name
from ...core.checkpoint import Checkpoint, Finding
from ...core.expectation import Expectation
from ...core.original_names import META_NAMES, MISTRAL_NAMES, is_rank
from ...core.wholeness import Problem
from .evidence import Evidence

if TYPE_CHECKING:
    from ...analysis.renamed import Renamed


def other_names(evidence: Evidence, renamed: Renamed) -> Iterator[Problem]:
    """One problem for all tensors with the names of wrappers. Without a config nothing says who
    is to load them, so that it is a warning."""
    if renamed.original and not renamed.wrappers and is_original(evidence.checkpoint):
        return  # a note says who loads it
    complete = is_complete(evidence.expectation)
    of_model = renamed.total - renamed.apart
    count = renamed.tensors
    tensors = (
        f"all {of_model:,} tensors" if count == of_model else f"{count:,} of {of_model:,} tensors"
    )
    text = f"{tensors} {'is' if count == 1 else 'are'} {_by(renamed)}"
    yield Problem(
        "other_names",
        f"complete, but {text}" if complete else text,
        count,
        renamed.names[0],
        _cause(evidence),
        "; ".join(dict.fromkeys(wrapper.remedy for wrapper in renamed.wrappers))
        or "convert the checkpoint for transformers",
        severity="warning" if evidence.prediction is None else "error",
        names=renamed.names,
    )


def is_complete(expectation: Expectation | None) -> bool:
    """Whether every tensor of the class is there, in its shape."""
    return expectation is not None and not (expectation.missing or expectation.reshaped)


def is_original(checkpoint: Checkpoint) -> bool:
    """Whether the files are called as Mistral's and Meta's code calls them."""
    names = [weight_name(shard.file) for shard in checkpoint.shards]
    return any(name is not None and name.kind is FileKind.ORIGINAL for name in names)


def original_note(
    checkpoint: Checkpoint, renamed: Renamed | None, expectation: Expectation | None
) -> tuple[Finding, ...]:
    """What there is to say of a checkpoint as Mistral or Meta publish theirs."""
    if renamed is None or not renamed.original or not is_original(checkpoint):
        return ()
    first = checkpoint.shards[0].file
    if is_rank(first):
        rule = META_NAMES
        text = "in the names of Meta's code, which loads it alone"
    else:
        rule = MISTRAL_NAMES
        text = "in Mistral's names: vLLM loads it with --load-format mistral, transformers does not"
    if is_complete(expectation):
        text = f"complete, {text}"
    return (Finding(rule, text, first, severity="note"),)


def _by(renamed: Renamed) -> str:
    """Who named them: ``named by torch.compile (_orig_mod.)``."""
    if renamed.original and not renamed.wrappers:
        return "in the names of Mistral's or Meta's of_model code"
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
