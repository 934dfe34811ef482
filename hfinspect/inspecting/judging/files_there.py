"""Files of a checkpoint that should be there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from ...core.checkpoint import Checkpoint
from ...core.refs import Origin
from ...core.text import byte_size
from ...core.wholeness import Problem, of_names
from .evidence import Evidence

#: Missing files that a command names one by one; more are a pattern, and what is there is skipped.
_NAMED_ONE_BY_ONE: Final = 4
_NUMBERS: Final = re.compile(r"\d{2,}(-of-\d+)?")
#: What stands for a repo that nothing on the disk names.
_SOME_REPO: Final = "ORG/NAME"


def missing_files(evidence: Evidence) -> Iterator[Problem]:
    """Shards that an index or a numbering names and that are not there, and how to fetch them."""
    checkpoint = evidence.checkpoint
    if not checkpoint.missing:
        return
    names, count = of_names(checkpoint.missing)
    total = count + len(checkpoint.shards)
    are = "is" if count == 1 else "are"
    nbytes = _missing_bytes(evidence)
    size = "" if nbytes is None else f" ({byte_size(nbytes)})"
    yield Problem(
        "missing_files",
        f"{count:,} of {total:,} shards {are} missing{size}",
        count,
        names[0],
        "the download was interrupted" if evidence.unfinished else "",
        _command(evidence.origin, checkpoint.missing),
        names=names,
    )


def _missing_bytes(evidence: Evidence) -> int | None:
    """What the index says of all tensors, without those that are there [bytes]; None where it says
    nothing that can be."""
    index = evidence.checkpoint.index
    claim = None if index is None else index.metadata.get("total_size")
    if type(claim) is not int:
        return None
    left = claim - _present_bytes(evidence.checkpoint)
    return left if left > 0 else None


def _present_bytes(checkpoint: Checkpoint) -> int:
    """Bytes of the tensors in the files that are there."""
    return sum((shard.size or 0) - shard.header_bytes for shard in checkpoint.shards)


def _command(origin: Origin | None, missing: Sequence[str]) -> str:
    """The command that fetches what is missing, for a folder to be run in it; a repo that is not
    known is ``ORG/NAME``."""
    repo = _SOME_REPO
    place = ""
    if origin is not None:
        repo = origin.repo_id or repo
        revision = f" --revision {shlex.quote(origin.revision)}" if origin.revision else ""
        place = " --local-dir ." if origin.kind == "directory" else revision
    if len(missing) > _NAMED_ONE_BY_ONE:
        missing = list(dict.fromkeys(_NUMBERS.sub("*", path) for path in missing))
    patterns = " ".join(f"--include {shlex.quote(path)}" for path in missing)
    return f"hf download {repo} {patterns}{place}"
