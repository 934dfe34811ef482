"""Shard and Checkpoint: weight files as their headers describe them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from .choices import Severity
from .json_form import JsonForm
from .records import dataclass
from .tensor import StoredTensor


@dataclass(frozen=True)
class Finding(JsonForm, after={"severity": "rule"}):
    """A remark that does not stop the reading.

    Fields:
        rule: a stable name, for scripts
        text: a sentence, for people
        file: the file concerned, or None
        tensor: the tensor concerned, or None
        severity: ``note``, ``warning`` or ``error``
    """

    rule: str
    text: str
    file: str | None = None
    tensor: str | None = None
    severity: Severity = "warning"


@dataclass(frozen=True)
class Shard:
    """One weight file.

    ``header_bytes`` is how much of the file describes tensors, ``size`` the whole file in bytes.
    ``metadata`` is the format's own free-form mapping (``__metadata__`` of safetensors, the
    key-values of GGUF), already bounded and of plain JSON types.
    """

    file: str
    format: str
    tensors: Sequence[StoredTensor]
    size: int | None
    header_bytes: int
    metadata: Mapping[str, object] = field(default_factory=dict, hash=False)
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class ShardIndex:
    """A ``*.index.json``: which shard holds which tensor, and what it claims of itself.

    Shards are named as in the file, relative to the index; ``Checkpoint`` has paths.
    """

    file: str
    weight_map: Mapping[str, str] = field(hash=False)
    metadata: Mapping[str, object] = field(default_factory=dict, hash=False)
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Checkpoint:
    """The weights that were chosen, with what else was found and why it was not taken.

    ``others`` are the paths of weight files left aside, ``reasons`` says why by path. ``missing``
    are shards that should be there and are not: with any of them every total is a lower limit.
    ``unread`` are shards whose list of tensors is not known, where an audit goes on without them.
    ``index`` is None where none was needed.
    """

    format: str
    shards: tuple[Shard, ...]
    index: ShardIndex | None = None
    others: tuple[str, ...] = ()
    chosen_because: str = ""
    findings: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict, hash=False)
    unread: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether no shard is known to be missing."""
        return not self.missing
