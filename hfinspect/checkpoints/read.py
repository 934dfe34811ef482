"""Reading a model: its small JSON files and the headers of its weights, in as few rounds as
possible and everything of a round at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias, TypeVar, cast

from ..core.checkpoint import Checkpoint, Finding, Shard, ShardIndex
from ..errors import (
    EntryNotFoundError,
    HfinspectError,
    NothingToInspectError,
    UnsupportedFormatError,
)
from ..formats.safetensors import shard_from_header
from ..formats.strict_json import collector_paused
from ..sources.base import FileEntry, Source
from .assemble import compare_with_index, repeated_tensors
from .choose import Choice, OtherFile, choose, unsupported
from .config import read_config
from .index import read_index, shard_paths
from .reader import FirstGuess, is_local, read_shard

T = TypeVar("T")

#: Small files that say how the weights are to be understood. Each costs one request, if present.
COMPANIONS = ("adapter_config.json", "hf_quant_config.json", "quantize_config.json")

_Headers: TypeAlias = "Mapping[str, bytes | Mapping[str, object]]"
_Config: TypeAlias = "Mapping[str, object] | HfinspectError"


@dataclass(frozen=True)
class ModelFiles:
    """What was read of a model.

    ``config`` is config.json, None if there is none or it is broken: then ``config_error`` says
    how. ``companions`` are further JSON files by name; those that could not be read are in
    ``findings``. ``checkpoint`` is None where there are no weights of a format that is read, or
    none were wanted; ``unread`` are the weight files of other formats.
    """

    files: Mapping[str, FileEntry]
    config: Mapping[str, object] | None = None
    config_error: HfinspectError | None = None
    companions: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    checkpoint: Checkpoint | None = None
    unread: tuple[OtherFile, ...] = ()
    findings: tuple[Finding, ...] = ()


def read_model(source: Source, *, file: str | None = None, weights: bool = True) -> ModelFiles:
    """Everything that describes a model, without its weights.

    ``file`` picks a weight file or index; ``weights=False`` leaves all of them unread. The config
    is the one beside the weights, or else that of the root. Raises AccessErrors, FormatError or
    ShardIndexError for the weights that were chosen. Neither a broken config is an error here nor
    a model without weights; ``no_weights`` makes one of the latter.
    """
    files = source.list_files()
    choice = choose(files, file) if weights else None
    small = _small_files(files, choice)
    reading = None if choice is None else _WeightReading(source, files, choice)
    tasks: list[Callable[[], object]] = [
        partial(read_config, source, path) for path in small.values()
    ]
    if reading is not None:
        tasks += reading.first_round()
    results = source.gather(tasks)
    checkpoint = reading.finish(results[len(small) :]) if reading else None
    # read_config gives a mapping: the files are listed.
    read = dict(zip(small, cast("list[_Config]", results), strict=False))
    config = read.pop("config.json", None)
    broken = {name: item for name, item in read.items() if isinstance(item, HfinspectError)}
    return ModelFiles(
        files,
        None if isinstance(config, HfinspectError) else config,
        config if isinstance(config, HfinspectError) else None,
        {name: item for name, item in read.items() if not isinstance(item, HfinspectError)},
        checkpoint,
        tuple(unsupported(files)),
        tuple(Finding("unreadable", str(error), small[name]) for name, error in broken.items()),
    )


def _small_files(files: Mapping[str, FileEntry], choice: Choice | None) -> dict[str, str]:
    """Paths of the small files to read, by their names."""
    first = "" if choice is None else next(iter(choice.files), choice.index or "")
    folder = first[: first.rfind("/") + 1]
    places = {name: (f"{folder}{name}", name) for name in ("config.json", *COMPANIONS)}
    found = {name: [path for path in paths if path in files] for name, paths in places.items()}
    return {name: paths[0] for name, paths in found.items() if paths}


def read_checkpoint(source: Source, *, file: str | None = None) -> Checkpoint:
    """The weights alone. Raises NothingToInspectError or UnsupportedFormatError where there are
    none, else as ``read_model``."""
    files = source.list_files()
    choice = choose(files, file)
    if choice is None:
        raise no_weights(source, files)
    reading = _WeightReading(source, files, choice)
    return reading.finish(source.gather(reading.first_round()))


def no_weights(source: Source, files: Mapping[str, FileEntry]) -> HfinspectError:
    """The error that fits a model without weights that are read."""
    name = source.origin.name
    unread = unsupported(files)
    if unread:
        formats = ", ".join(sorted({item.reason for item in unread}))
        return UnsupportedFormatError(
            name,
            f"holds only weights that are not read ({formats})",
            expected="safetensors, PyTorch or GGUF",
            where=unread[0].path,
        )
    if "config.json" in files:
        return NothingToInspectError(name, "holds no weights", hint="read its config.json instead")
    return NothingToInspectError(name, "holds neither weights nor a config.json")


class _WeightReading:
    """Two rounds of requests: what is known to be needed, then what the answers ask for."""

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

    def first_round(self) -> list[Callable[[], object]]:
        tasks: list[Callable[[], object]] = []
        if self.asks_server:
            assert self.choice.index is not None
            tasks.append(partial(self.source.shard_headers, self.choice.index))
        if self.asks_index:
            assert self.choice.index is not None
            tasks.append(partial(read_index, self.source, self.choice.index))
        return tasks or [*self._shard_tasks(self.choice.files)]

    def finish(self, results: list[object]) -> Checkpoint:
        """The checkpoint, from the results of the first round."""
        if not self.asks_server and not self.asks_index:
            return self._checkpoint(_all_good(cast("list[Shard | HfinspectError]", results)), None)
        answers = iter(results)
        headers = cast("_Headers | None", _good(next(answers)) if self.asks_server else None) or {}
        index = cast("ShardIndex | None", _good(next(answers)) if self.asks_index else None)
        return self._assemble(headers, index)

    def _assemble(self, headers: _Headers, index: ShardIndex | None) -> Checkpoint:
        paths = self.choice.files if index is None else tuple(shard_paths(index))
        missing = tuple(path for path in paths if path not in self.files)
        present = [path for path in paths if path in self.files]
        if not present:
            assert self.choice.index is not None
            text = f"none of the {len(paths)} shards that it names is there"
            raise EntryNotFoundError(self.choice.index, text)
        rest = [path for path in present if path not in headers]
        if index is not None:
            folder = index.file[: index.file.rfind("/") + 1]
            weight_map = {name: folder + shard for name, shard in index.weight_map.items()}
            self.guess = FirstGuess(self.source, weight_map)
        read = dict(zip(rest, self.source.gather(self._shard_tasks(rest)), strict=True))
        with collector_paused():
            shards = [
                self._ready(path, headers[path]) if path in headers else read[path]
                for path in present
            ]
        return self._checkpoint(_all_good(shards), index, missing)

    def _ready(self, path: str, header: bytes | Mapping[str, object]) -> Shard | HfinspectError:
        try:
            return shard_from_header(path, header, self.files[path].size)
        except HfinspectError as error:
            return error

    def _shard_tasks(self, paths: tuple[str, ...] | list[str]) -> list[Callable[[], Shard]]:
        return [partial(self._read_shard, path) for path in paths]

    def _read_shard(self, path: str) -> Shard:
        return read_shard(self.source, self.choice.format, path, self.guess)

    def _checkpoint(
        self, shards: list[Shard], index: ShardIndex | None, missing: tuple[str, ...] = ()
    ) -> Checkpoint:
        choice = self.choice
        missing = missing if index is not None else choice.missing
        findings = [
            Finding("missing-shard", "the shard is not there", path, None, "error")
            for path in missing
        ]
        findings += repeated_tensors(shards)
        if index is not None:
            findings += [*index.findings, *compare_with_index(shards, index, missing)]
        used = {shard.file for shard in shards}
        others = [other for other in choice.others if other.path not in used]
        if index is not None and choice.files:
            others += [
                OtherFile(path, "not named by the index", self.files[path].size)
                for path in choice.files
                if path not in used
            ]
        checkpoint = Checkpoint(
            choice.format,
            tuple(shards),
            index,
            tuple(other.path for other in others),
            choice.because,
            tuple(findings),
            missing,
        )
        return replace(checkpoint, reasons={other.path: other.reason for other in others})


def _good(result: T | HfinspectError) -> T:
    if isinstance(result, HfinspectError):
        raise result
    return result


def _all_good(results: list[Shard | HfinspectError]) -> list[Shard]:
    return [_good(result) for result in results]
