"""One weight file read for an audit: whatever its header says, and everything wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...checkpoints.file_bytes import FirstGuess, SourceReader, is_local
from ...checkpoints.filenames import Kind, WeightName
from ...core.checkpoint import Finding, Shard
from ...errors import AccessError, FormatError, HfinspectError, LimitError, UnsupportedFormatError
from ...formats.pickles.globals import PickleScan
from ...formats.registry import get_format
from ...formats.safetensors.safetensors import inspect_header
from ...formats.sniff import SNIFF_BYTES, raise_if_not_weights
from ...formats.torch.legacy import is_plain_pickle
from ...formats.torch.torch import scan_file
from ...formats.window import Windows
from ...sources.source import Source
from .target import IndexFact, WeightFact

Scans = tuple[tuple[str, PickleScan], ...]


class WeightRead(NamedTuple):
    """A weight file and the names in its pickles, or why these could not be had."""

    fact: WeightFact
    scans: Scans | None = None
    scan_error: HfinspectError | None = None


@dataclass
class WeightReader:
    """Reads the weight files of one source, each range of each file at most once."""

    source: Source
    guesses: Mapping[str, FirstGuess]

    def read(self, name: WeightName) -> WeightRead:
        """Raises nothing that concerns only this file."""
        reader = SourceReader(self.source, name.path)
        if name.format == "safetensors":
            return WeightRead(self._safetensors(name, reader))
        # Two readers look at a pickle: for tensors and for names. The window answers the second.
        windows = Windows(reader)
        fact = self._other(name, windows)
        if name.format != "torch":
            return WeightRead(fact)
        if isinstance(fact.refused, AccessError):
            return WeightRead(fact)
        try:
            return WeightRead(fact, tuple(scan_file(windows)))
        except HfinspectError as error:
            return WeightRead(fact, None, error)

    def _safetensors(self, name: WeightName, reader: SourceReader) -> WeightFact:
        guess = self.guesses[name.path]
        try:
            first = guess.bytes_for("safetensors", name.path, reader.size)
            header, findings = inspect_header(reader, first_guess=first)
        except HfinspectError as error:
            return _refused(name, reader.size, _recognised(reader, error))
        shard = Shard(
            name.path, "safetensors", header.tensors, reader.size, header.data_start,
            header.metadata, tuple(findings),
        )  # fmt: skip
        guess.learn(shard)
        return WeightFact(name, reader.size, shard, tuple(findings))

    def _other(self, name: WeightName, reader: Windows) -> WeightFact:
        try:
            shard = get_format(name.format).read_header(reader)
        except HfinspectError as error:
            return _refused(name, reader.size, error)
        return WeightFact(name, reader.size, shard, shard.findings)


def _recognised(reader: SourceReader, error: HfinspectError) -> HfinspectError:
    """A header of zero length is no JSON, but zeros up to here are a file that was not written."""
    if isinstance(error, FormatError) and error.rule == "not-json":
        try:
            raise_if_not_weights(reader.path, reader.read(0, SNIFF_BYTES), reader.size)
        except HfinspectError as known:
            return known
    return error


def _refused(name: WeightName, size: int | None, error: HfinspectError) -> WeightFact:
    rule, severity = "unreadable", "error"
    if isinstance(error, FormatError):
        rule = error.rule
    elif isinstance(error, LimitError):
        rule = "limit"
    elif isinstance(error, UnsupportedFormatError):
        plain = is_plain_pickle(error)
        if plain and name.kind in (Kind.MODEL, Kind.ADAPTER):
            problem = Finding("no-tensors", error.found, name.path, None, "warning")
            return WeightFact(name, size, None, (problem,), error)
        if plain or name.kind is Kind.TRAINING or name.path.lower().endswith(".pkl"):
            return WeightFact(name, size, None, (), error)  # a plain pickle, as its name says
        rule, severity = "unsupported", "warning"
    text = error.found + (f" ({error.where})" if error.where else "")
    return WeightFact(name, size, None, (Finding(rule, text, name.path, None, severity),), error)


def guesses_for(
    source: Source, weights: Sequence[WeightName], indexes: Mapping[str, IndexFact]
) -> dict[str, FirstGuess]:
    """How much of each file to ask for first: by its index's names, else one guess for all."""
    plain = FirstGuess(source)
    guesses = dict.fromkeys((name.path for name in weights), plain)
    if is_local(source):
        return guesses
    for fact in indexes.values():
        if fact.index is not None:
            guess = FirstGuess(source, fact.index)
            folder = fact.path[: fact.path.rfind("/") + 1]
            for shard in set(fact.index.weight_map.values()):
                if folder + shard in guesses:
                    guesses[folder + shard] = guess
    return guesses
