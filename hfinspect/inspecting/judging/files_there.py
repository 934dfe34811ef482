"""Files of a checkpoint that should be there."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.wholeness import Problem, of_names
from .evidence import Evidence


def missing_files(evidence: Evidence) -> Iterator[Problem]:
    """Shards that an index or a numbering names and that are not there."""
    checkpoint = evidence.checkpoint
    if not checkpoint.missing:
        return
    names, count = of_names(checkpoint.missing)
    total = count + len(checkpoint.shards)
    are = "is" if count == 1 else "are"
    yield Problem(
        "missing_files", f"{count:,} of {total:,} shards {are} missing", count, names[0],
        names=names,
    )  # fmt: skip
