"""One weight file as an audit sees it: what its header says, everything wrong with it, and which
names its pickles hold."""

from collections.abc import Mapping
from typing import NamedTuple

from ...checkpoints.file_bytes import FirstGuess, SourceReader
from ...checkpoints.filenames import FileKind, WeightName
from ...checkpoints.one_file import Read, read_header
from ...core.checkpoint import Finding, Shard
from ...core.choices import Severity
from ...core.stored_tensors import StoredTensors
from ...errors import AccessError, FormatError, HfinspectError, LimitError, UnsupportedFormatError
from ...formats.torch.legacy import is_plain_pickle
from ...formats.torch.torch import scan_file
from ...formats.window import Windows
from ...sources.source import Source
from .other_files import Scans
from .target import WeightFact

#: Errors that say nothing about the file: nothing is known to be wrong with it.
NETWORK = frozenset({"offline", "network", "timeout", "rate_limited", "moved", "pointer"})


class WeightRead(NamedTuple):
    """A weight file and the names in its pickles, or why these could not be had."""

    fact: WeightFact
    scans: Scans | None = None
    scan_error: HfinspectError | None = None


def is_without_bytes(shard: Shard | None) -> bool:
    """Whether a shard was made of a header that a server has parsed: of its own bytes none was
    seen, neither the length before it nor a key that is there twice."""
    tensors = None if shard is None else shard.tensors
    return isinstance(tensors, StoredTensors) and tensors.start is None


def read_weight(
    source: Source, name: WeightName, guess: FirstGuess, known: Mapping[str, Shard]
) -> WeightRead:
    """A weight file, each range of it read at most once; ``known`` are those that were read.
    Raises nothing that concerns only it."""
    shard = known.get(name.path)
    if shard is not None and shard.format == name.format != "torch":
        guess.learn(shard)
        return WeightRead(weight_fact(name, Read(name.path, shard.size, shard)))
    reader = SourceReader(source, name.path)
    if name.format != "torch":
        return WeightRead(weight_fact(name, read_header(reader, name.format, guess)))
    # Two readers look at a pickle: for tensors and for names. The window answers the second.
    windows = Windows(reader)
    fact = weight_fact(name, read_header(windows, name.format, guess))
    if isinstance(fact.refused, AccessError):
        return WeightRead(fact)
    try:
        return WeightRead(fact, tuple(scan_file(windows)))
    except HfinspectError as error:
        return WeightRead(fact, None, error)


def weight_fact(name: WeightName, read: Read[Shard]) -> WeightFact:
    """What was read, with the error that stopped it as a finding."""
    if read.value is not None:
        return WeightFact(name, read.size, read.value, tuple(read.value.findings))
    return WeightFact(name, read.size, None, _problems(name, read.error), read.error)


def _problems(name: WeightName, error: HfinspectError | None) -> tuple[Finding, ...]:
    """A plain pickle may hold no tensors, if its name promises none."""
    if error is None or error.kind in NETWORK:
        return ()
    rule = "unreadable"
    severity: Severity = "error"
    if isinstance(error, FormatError):
        rule = error.rule
    elif isinstance(error, LimitError):
        rule = "limit"
    elif isinstance(error, UnsupportedFormatError):
        plain = is_plain_pickle(error)
        if plain and name.kind in (FileKind.MODEL, FileKind.ADAPTER):
            return (Finding("no-tensors", error.found, name.path, None, "warning"),)
        if plain or name.kind is FileKind.TRAINING or name.path.lower().endswith(".pkl"):
            return ()
        rule = "unsupported"
        severity = "warning"
    text = error.found + (f" ({error.where})" if error.where else "")
    return (Finding(rule, text, name.path, None, severity),)
