"""Reading the headers of one choice of weight files in at most two rounds of requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias, TypeVar, cast

from ..core.checkpoint import Checkpoint, Finding, Shard, ShardIndex
from ..errors import EntryNotFoundError, HfinspectError
from ..formats.safetensors import shard_from_header
from ..formats.strict_json import collector_paused
from ..sources.base import FileEntry, Source
from .assemble import compare_with_index, repeated_tensors
from .choose import Choice, OtherFile
from .index import read_index, shard_paths
from .reader import FirstGuess, is_local, read_shard

T = TypeVar("T")
Task: TypeAlias = Callable[[], object]
_Headers: TypeAlias = "Mapping[str, bytes | Mapping[str, object]]"


class WeightReading:
    """Ask ``first_round``, give its results to ``second_round``, ask that, and ``finish``.

    The first round asks what is known to be needed, the second what its answers call for; both
    may be empty. Several readings share their rounds. A task's result may be an HfinspectError.
    """

    def __init__(self, source: Source, files: Mapping[str, FileEntry], choice: Choice) -> None:
        self.source = source
        self.files = files
        self.choice = choice
        self.guess = FirstGuess(source)
        # The Hub has all headers ready, but only those of main.
        is_main = source.origin.kind == "hub" and source.origin.revision in (None, "main")
        self.asks_server = is_main and choice.format == "safetensors" and choice.index is not None
        # A complete numbering needs no index; on disk it costs nothing to compare it.
        self.asks_index = choice.index is not None and (not choice.whole or is_local(source))
        self.headers: _Headers = {}
        self.index: ShardIndex | None = None
        self.paths: Sequence[str] = choice.files
        self.asked: Sequence[str] = ()
        self.read: dict[str, Shard | HfinspectError] = {}

    def first_round(self) -> list[Task]:
        tasks: list[Task] = []
        if self.choice.index is not None and self.asks_server:
            tasks.append(partial(self.source.shard_headers, self.choice.index))
        if self.choice.index is not None and self.asks_index:
            tasks.append(partial(read_index, self.source, self.choice.index))
        return tasks or self._ask(self.choice.files)

    def second_round(self, results: Sequence[object]) -> list[Task]:
        """Raises what made the first round useless: a malformed index, no access."""
        if not self.asks_server and not self.asks_index:
            self._take(results)
            return []
        answers = iter(results)
        if self.asks_server:
            self.headers = cast("_Headers | None", _good(next(answers))) or {}
        if self.asks_index:
            self.index = cast("ShardIndex", _good(next(answers)))
            self.paths = shard_paths(self.index)
            self.guess = FirstGuess(self.source, self.index)
        return self._ask([path for path in self._present() if path not in self.headers])

    def finish(self, results: Sequence[object]) -> Checkpoint:
        """The checkpoint. Raises the first shard's error, which names the shard."""
        if self.asks_server or self.asks_index:
            self._take(results)
        with collector_paused():
            shards = [_good(self._shard(path)) for path in self._present()]
        return self._checkpoint(shards)

    def _ask(self, paths: Sequence[str]) -> list[Task]:
        self.asked = paths
        name = self.choice.format
        # The guess is looked up when the task runs: it may have learned by then.
        return [partial(read_shard, self.source, name, path, self.guess) for path in paths]

    def _take(self, results: Sequence[object]) -> None:
        shards = cast("Sequence[Shard | HfinspectError]", results)
        self.read = dict(zip(self.asked, shards, strict=True))

    def _present(self) -> list[str]:
        present = [path for path in self.paths if path in self.files]
        if not present and self.choice.index is not None:
            text = f"none of the {len(self.paths)} shards that it names is there"
            raise EntryNotFoundError(self.choice.index, text)
        return present

    def _shard(self, path: str) -> Shard | HfinspectError:
        if path not in self.headers:
            return self.read[path]
        try:
            return shard_from_header(path, self.headers[path], self.files[path].size)
        except HfinspectError as error:
            return error

    def _checkpoint(self, shards: list[Shard]) -> Checkpoint:
        missing = self.choice.missing
        if self.index is not None:
            missing = tuple(path for path in self.paths if path not in self.files)
        findings = [
            Finding("missing-shard", "the shard is not there", path, None, "error")
            for path in missing
        ]
        findings += repeated_tensors(shards)
        if self.index is not None:
            findings += [*self.index.findings, *compare_with_index(shards, self.index, missing)]
        others = self._others({shard.file for shard in shards})
        return Checkpoint(
            self.choice.format,
            tuple(shards),
            self.index,
            tuple(other.path for other in others),
            self.choice.because,
            tuple(findings),
            missing,
            {other.path: other.reason for other in others},
        )

    def _others(self, used: set[str]) -> list[OtherFile]:
        others = [other for other in self.choice.others if other.path not in used]
        unused = [path for path in self.choice.files if path not in used]
        return others + [
            OtherFile(path, "not named by the index", self.files[path].size) for path in unused
        ]


@dataclass
class Rounds:
    """Several readings and other tasks, asked together."""

    source: Source
    readings: list[WeightReading] = field(default_factory=list)

    def run(self, tasks: Sequence[Task]) -> tuple[list[object], list[Checkpoint]]:
        """Results of ``tasks`` (an HfinspectError is a result), and a checkpoint per reading."""
        # On disk there is nothing to wait for, so the collector can rest for all of it.
        with collector_paused() if is_local(self.source) else nullcontext():
            return self._run(tasks)

    def _run(self, tasks: Sequence[Task]) -> tuple[list[object], list[Checkpoint]]:
        firsts = [reading.first_round() for reading in self.readings]
        results = self.source.gather([*tasks, *(task for first in firsts for task in first)])
        parts = _parted(results[len(tasks) :], firsts)
        seconds = [r.second_round(part) for r, part in zip(self.readings, parts, strict=True)]
        rest = [task for second in seconds for task in second]
        later = _parted(self.source.gather(rest) if rest else [], seconds)
        done = [r.finish(part) for r, part in zip(self.readings, later, strict=True)]
        return results[: len(tasks)], done


def _parted(results: Sequence[object], like: Sequence[Sequence[object]]) -> list[list[object]]:
    """Results of concatenated lists of tasks, taken apart again."""
    left = iter(results)
    return [[next(left) for _ in part] for part in like]


def _good(result: T | HfinspectError) -> T:
    if isinstance(result, HfinspectError):
        raise result
    return result
