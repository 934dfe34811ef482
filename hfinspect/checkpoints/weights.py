"""Reading the headers of chosen weight files in as few rounds of requests as possible."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Final, TypeAlias, cast

from ..core.checkpoint import Checkpoint, Finding, Shard, ShardIndex
from ..core.collector import collector_paused
from ..core.original_names import OTHER_RANK, is_rank
from ..core.progress import Count
from ..core.records import dataclass
from ..errors import EntryNotFoundError, HfinspectError, LimitError, UnsupportedFormatError
from ..formats.safetensors.cached_header import CachedHeader
from ..formats.safetensors.header import Header
from ..formats.safetensors.safetensors import judged_shard, shard_from_header
from ..sources.source import FileEntry, ParsedCache, Source
from .agreement import compare_with_index, repeated_tensors
from .alternatives import (
    SAME_BYTES,
    Alternative,
    alternatives_to,
    judged,
    same_bytes,
    with_judgement,
)
from .choose import OtherFile, WeightChoice
from .file_bytes import FirstGuess, is_incompressible, typical_header
from .one_file import Read, good, read_index, read_shard
from .weight_map import Shards, shards_of

#: Weight files of a repo that are read one by one. The largest released models have 770; each costs
#: two requests, of which the Hub allows some thousands in five minutes.
MAX_WEIGHT_FILES: Final = 2_000

Task: TypeAlias = Callable[[], object]
#: Yields what to ask at once, is sent the results in their order, returns a checkpoint.
Rounds: TypeAlias = "Generator[list[Task], Sequence[object], Checkpoint]"
_ReadHeaders: TypeAlias = "Mapping[str, bytes | Mapping[str, object] | Header]"


class WeightReading:
    """One choice of weight files, read in the rounds of tasks that ``rounds`` yields.

    ``refused`` are the refusals of the files that come before it.
    """

    def __init__(
        self,
        source: Source,
        files: Mapping[str, FileEntry],
        choice: WeightChoice,
        count: Count,
        refused: Sequence[UnsupportedFormatError],
    ) -> None:
        self.source = source
        self.files = files
        self.choice = choice
        self.count = count
        self.refused = refused
        self._expected = self._came = 0
        self.headers: _ReadHeaders = {}
        self.parsed_cache: ParsedCache | None = None
        self._parsed: list[CachedHeader] = []
        self._cached: Mapping[str, CachedHeader] = {}
        self._read_now: list[CachedHeader] = []
        self.index: ShardIndex | None = None
        self.compared: FirstGuess | None = None
        self.shards = self._shards()
        self.read: dict[str, Read[Shard]] = {}
        self.alternatives: dict[Alternative, Sequence[Shard] | HfinspectError] = {}

    def rounds(self) -> Rounds:
        """At most four: what the server has ready, the index, the shards one by one, those that
        only the index names. Where the names of the shards say that none lacks, the index comes
        while the server says where they are.

        Raises what makes a round useless (a malformed index, no access), and the first shard's
        error, which names the shard.
        """
        self._expect()
        server = self._server_task()
        index = self._index_task()
        index_now = None if self.choice.complete else index
        first = [task for task in (server, index_now) if task]
        if first:
            answers = iter((yield first))
            if server:
                self._take_headers(good(next(answers)))
            if index_now:
                self._take_index(good(next(answers)))
        by_one = bool(self._left())
        self._take_cached()
        yield from self._with_others(index if by_one and self.index is None else None)
        with collector_paused():
            shards = [self._shard(path) for path in self._present()]
            self._keep_headers(self._parsed)
            return self._checkpoint(shards)

    def _with_others(self, index: Task | None) -> Generator[list[Task], Sequence[object], None]:
        """Read the shards that are left, other weights worth a look, and an index if there is one
        still to read."""
        left = self._left()
        alternatives = self._alternatives()
        self.count.expect(len(alternatives))
        guess = self._guess(awaiting=index is not None)
        tasks = [*self._shard_tasks(left, guess), *self._alternative_tasks(alternatives)]
        if index is not None:
            tasks.insert(0, partial(self._for_guess, index, guess))
        if not tasks:
            return
        got = list((yield tasks))
        if index is not None:
            self._take_index(good(got.pop(0)))
        self._take_shards(left, got)
        others = cast("Sequence[Sequence[Shard] | HfinspectError]", got[len(left) :])
        self.alternatives = dict(zip(alternatives, others, strict=True))
        if unread := self._left():
            self._take_shards(unread, (yield self._shard_tasks(unread, guess)))
        for path, (header, _) in self._cached.items():
            guess.compare(path, set(header.tensors.names()))
        self._keep_shards()

    def _shard_tasks(self, paths: Sequence[str], guess: FirstGuess) -> list[Task]:
        collect = self._read_now.append if self._keeps_together() is not None else None
        reads = [
            partial(read_shard, self.source, self.choice.format, path, guess, collect)
            for path in paths
        ]
        return [self.count.counted(read) for read in reads]

    def _alternative_tasks(self, alternatives: Sequence[Alternative]) -> list[Task]:
        return [self.count.counted(partial(self._read_other, one)) for one in alternatives]

    @staticmethod
    def _for_guess(index: Task, guess: FirstGuess) -> object:
        """An index, for which those wait that know how much to read by it."""
        try:
            read = cast("Read[ShardIndex]", index())
            if read.error is None and read.value is not None:
                guess.take(read.value)
            return read
        finally:
            guess.give_up()

    def _take_shards(self, paths: Sequence[str], results: Sequence[object]) -> None:
        shards = [cast("Read[Shard]", good(result)) for result in results[: len(paths)]]
        self.read.update(zip(paths, shards, strict=True))

    def _server_task(self) -> Task | None:
        """The Hub has all headers ready, but only those of main."""
        origin = self.source.origin
        choice = self.choice
        is_main = origin.kind == "hub" and origin.revision in (None, "main")
        if not is_main or choice.format != "safetensors" or choice.index is None:
            return None
        return partial(self._server_headers, choice.index)

    def _server_headers(self, index: str) -> _ReadHeaders:
        """The headers that the server has ready, or those of it that were kept."""
        self.parsed_cache = self.source.parsed_cache
        if self.parsed_cache is not None:
            from .cached_shards import cached_headers

            known = cached_headers(self.parsed_cache, index, self.files)
            if known is not None:
                self.parsed_cache = None  # it has them
                return known
        return self.source.shard_headers(index, self._come) or {}

    def _keep_headers(self, parsed: Sequence[CachedHeader]) -> None:
        """What came from the server, for the next time."""
        index = self.choice.index
        if self.parsed_cache is not None and parsed and index is not None:
            from .cached_shards import cache_headers

            cache_headers(self.parsed_cache, index, parsed)

    def _keeps_together(self) -> ParsedCache | None:
        """Who keeps the headers of shards that are read one by one; None for a single file too."""
        sharded = self.choice.format == "safetensors" and self.choice.index is not None
        return self.source.parsed_cache if sharded else None

    def _take_cached(self) -> None:
        """The shards that were read before."""
        parsed_cache = self._keeps_together()
        index = self.choice.index
        if parsed_cache is not None and index is not None and self._left():
            from .cached_shards import cached_shards

            self._cached = cached_shards(parsed_cache, index, self.files)
            self.count.add(sum(path in self._cached for path in self.shards.present))

    def _keep_shards(self) -> None:
        parsed_cache = self._keeps_together()
        index = self.choice.index
        if parsed_cache is not None and index is not None and self._read_now:
            from .cached_shards import cache_shards

            cache_shards(parsed_cache, index, self.files, [*self._cached.values(), *self._read_now])

    def _index_task(self) -> Task | None:
        """A complete numbering needs no index to be found, but its names show how much of each
        shard to read first, where it costs less than it spares; on disk it costs nothing."""
        choice = self.choice
        if choice.index is None:
            return None
        worth = choice.format == "safetensors" and not is_incompressible(self.files[choice.index])
        if choice.complete and not worth and not self.source.is_near:
            return None
        return partial(read_index, self.source, choice.index)

    def _come(self, headers: int) -> None:
        """So many headers of the one answer have come in, as far as its names say."""
        more = min(headers, len(self.shards.present)) - self._came
        if more > 0:
            self._came += more
            self.count.add(more)

    def _take_headers(self, answer: object) -> None:
        self.headers = cast("_ReadHeaders | None", answer) or {}
        headers = sum(path in self.headers for path in self.shards.present)
        self.count.add(headers - self._came)  # negative where the answer is not used

    def _take_index(self, answer: object) -> None:
        self.index = cast("Read[ShardIndex]", answer).strict()
        self.shards = self._shards()
        self._expect()

    def _shards(self) -> Shards:
        return shards_of(self.choice.files, self.choice.missing, self.index, self.files)

    def _expect(self) -> None:
        """Say how many headers there are to read, as far as it is known."""
        present = len(self.shards.present)
        self.count.expect(present - self._expected)
        self._expected = present

    def _left(self) -> list[str]:
        """The shards whose headers are still to be read."""
        known = self.headers.keys() | self._cached.keys() | self.read.keys()
        return [path for path in self._present() if path not in known]

    def _alternatives(self) -> list[Alternative]:
        """Other weights whose headers are cheap enough to be compared with the chosen ones."""
        if self.choice.picked or not self.choice.others:
            return []
        return alternatives_to(self._named(), self.files, local=self.source.is_near)

    def _read_other(self, one: Alternative) -> list[Shard]:
        guess = FirstGuess(self.source)
        return [read_shard(self.source, one.format, path, guess).strict() for path in one.files]

    def _guess(self, *, awaiting: bool) -> FirstGuess:
        size = self.files[self.choice.index].size if self.choice.index is not None else None
        typical = None if size is None else typical_header(size, len(self.shards.present))
        indexes = [] if self.index is None else [self.index]
        guess = FirstGuess(self.source, indexes, typical=typical, awaiting=awaiting)
        if indexes or awaiting:
            self.compared = guess
        return guess

    def _named(self) -> Sequence[str]:
        return (*self.shards.present, *(self.shards.missing if self.index is not None else ()))

    def _present(self) -> Sequence[str]:
        present = self.shards.present
        if not present and self.choice.index is not None:
            text = f"none of the {len(self._named())} shards that it names is there"
            raise EntryNotFoundError(self.choice.index, text)
        return present

    def _shard(self, path: str) -> Shard:
        if path in self._cached:
            return judged_shard(*self._cached[path])
        if path not in self.headers:
            return self.read[path].strict()
        header = self.headers[path]
        size = self.files[path].size

        def parsed(parsed_header: Header) -> None:
            self._parsed.append(CachedHeader(parsed_header, size))

        if isinstance(header, Header):
            return judged_shard(header, size)
        return shard_from_header(path, header, size, keep=parsed)

    def _checkpoint(self, shards: list[Shard]) -> Checkpoint:
        missing = self.shards.missing
        findings = [
            Finding("missing-shard", "the shard is not there", path, None, "error")
            for path in missing
        ]
        as_indexed = self.compared is not None and self.compared.all_confirmed(
            [shard.file for shard in shards]
        )
        findings += [] if as_indexed else repeated_tensors(shards)
        if self.index is not None:
            findings += self.index.findings
            findings += [] if as_indexed else compare_with_index(shards, self.index, missing)
        findings += [
            Finding("passed-over", f"is {error.found}", error.subject) for error in self.refused
        ]
        because = self.choice.because
        refused = self._refused()
        others = self._others(shards)
        if self.refused:
            because += f"; {self.refused[0].subject} comes first, but is not read"
        return Checkpoint(
            self.choice.format,
            tuple(shards),
            self.index,
            tuple(other.path for other in (*refused, *others)),
            because,
            tuple(findings),
            missing,
            {other.path: other.reason for other in (*others, *refused)},
        )

    def _refused(self) -> list[OtherFile]:
        return [
            OtherFile(error.subject, error.found, self.files[error.subject].size)
            for error in self.refused
            if error.subject in self.files
        ]

    def _others(self, shards: Sequence[Shard]) -> list[OtherFile]:
        used = {shard.file for shard in shards}
        judgements = {
            path: judged(shards, shards_read)
            for one, shards_read in self.alternatives.items()
            if not isinstance(shards_read, HfinspectError)
            for path in one.files
        }
        for other in self.choice.others:
            if same_bytes(self._named(), [other.path], self.files):
                judgements[other.path] = SAME_BYTES
            elif is_rank(other.path) and any(map(is_rank, used)):
                judgements[other.path] = OTHER_RANK
        others = [
            other._replace(reason=with_judgement(other.reason, judgements.get(other.path)))
            for other in self.choice.others
            if other.path not in used
        ]
        return others + [
            OtherFile(path, "not named by the index", self.files[path].size)
            for path in self.shards.extra
        ]


def read_weights(
    source: Source, readings: Sequence[Rounds], tasks: Sequence[Task]
) -> tuple[list[object], list[Checkpoint | UnsupportedFormatError]]:
    """Results of ``tasks`` (an HfinspectError is a result), and of each reading its checkpoint, or
    why there is none that is read.

    The readings go side by side: what one of them asks in a round is asked with the others'.
    """
    # On disk there is nothing to wait for, so the collector can rest for all of it.
    with collector_paused() if source.is_near else nullcontext():
        running = [_Running(rounds) for rounds in readings]
        for one in running:
            one.go_on(None)
        results = _answered(source, running, tasks)
        while any(one.tasks for one in running):
            _answered(source, running, ())
        return results, [one.result for one in running if one.result is not None]


@dataclass()
class _Running:
    """A reading under way: what it wants next, or in the end its result."""

    rounds: Rounds
    tasks: Sequence[Task] = ()
    result: Checkpoint | UnsupportedFormatError | None = None

    def go_on(self, answers: Sequence[object] | None) -> None:
        """``answers`` to what was wanted; None to begin."""
        try:
            self.tasks = self.rounds.send(answers) if answers is not None else next(self.rounds)
        except StopIteration as finished:
            self.tasks = ()
            self.result = finished.value
        except UnsupportedFormatError as refused:
            self.tasks = ()
            self.result = refused


def _answered(source: Source, running: Sequence[_Running], tasks: Sequence[Task]) -> list[object]:
    """Ask what all want, at once; the results of ``tasks``."""
    under_way = [one for one in running if one.tasks]
    check_number(source, sum(len(one.tasks) for one in under_way))
    answers = iter(source.gather([*tasks, *(task for one in under_way for task in one.tasks)]))
    results = [next(answers) for _ in tasks]
    for one in under_way:
        one.go_on([next(answers) for _ in one.tasks])
    return results


def check_number(source: Source, files: int) -> None:
    """Raises LimitError for more files of a repo than are worth reading one by one."""
    if files > MAX_WEIGHT_FILES and not source.is_near:
        error = LimitError(
            source.origin.name,
            f"has {files:,} weight files to be read one by one",
            expected=f"at most {MAX_WEIGHT_FILES:,}",
            hint="name one of them or a folder as its file, or read the config alone",
        )
        error.argument = ("fewer", "")
        raise error
