"""Models that stay open while they are compared, and the files that they have in common, by hashes
that the Hub or its cache has noted."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from ..analysis.differences import Comparison, compare
from ..checkpoints.filenames import weight_name
from ..core.choices import SourceChoice
from ..core.given_config import config_given
from ..core.progress import Progress
from ..core.weight_changes import EqualFile, FileIdentity
from ..errors import HfinspectError, UsageError
from ..inspecting.build import Inspected
from ..inspecting.inspect_run import inspect_opened, inspect_target, of_pipeline
from ..sources.disk import recorded_hashes
from ..sources.layer import SourceLayer
from ..sources.opening import Access, errors_about
from ..sources.pool import run_all
from ..sources.source import FileEntry, Source
from .weight_reading import Announce, ModelWithBytes, compared_whole, sampled


class HashedFiles:
    """The files of a model and what is known of their content without reading it."""

    def __init__(self, entries: Mapping[str, FileEntry], noted: Mapping[str, str]) -> None:
        self.entries = entries
        self._noted = noted

    @classmethod
    def of(cls, source: Source) -> "HashedFiles":
        disk = source.on_disk
        return cls(source.list_files(), {} if disk is None else recorded_hashes(disk))

    def hashes(self, path: str) -> frozenset[str]:
        """Each says of what kind it is; two files are equal if they share one."""
        entry = self.entries[path]
        sha256 = entry.sha256 or self._noted.get(path)
        known = {f"sha256:{sha256}"} if sha256 else set()
        return frozenset(known | {entry.object_id} if entry.object_id else known)


def identity(first: HashedFiles, other: HashedFiles) -> FileIdentity | None:
    """Equal files of ``other``; None where no hash of either is known."""
    by_hash: dict[str, str] = {}
    for path in first.entries:
        for known in first.hashes(path):
            by_hash.setdefault(known, path)
    compared = 0
    equal: list[EqualFile] = []
    weights: list[bool | None] = []
    for path, entry in other.entries.items():
        hashes = other.hashes(path)
        compared += bool(hashes)
        there = _same_path(path, hashes, first) or next(
            (by_hash[known] for known in sorted(hashes) if known in by_hash), None
        )
        name = weight_name(path)
        is_weights = name is not None and not name.is_index
        if is_weights:
            weights.append(there is not None if hashes else None)
        if there is not None:
            equal.append(EqualFile(path, there, entry.size, is_weights))
    if not by_hash or not compared:
        return None
    return FileIdentity(tuple(equal), compared, len(other.entries), _all(weights))


def _same_path(path: str, hashes: frozenset[str], first: HashedFiles) -> str | None:
    return path if path in first.entries and hashes & first.hashes(path) else None


def _all(known: list[bool | None]) -> bool | None:
    if not known or None in known:
        return None
    return all(known)


#: Models that are read at the same time.
_AT_ONCE: Final = 8
_METHODS: Final = {"sample": sampled, "values": compared_whole}


class ModelToCompare(NamedTuple):
    """A model to compare: its name, how it is reached, and the config keys that it changes."""

    target: object
    access: Access
    overrides: Mapping[str, Any] | None = None


class ModelBeingCompared(NamedTuple):
    """``source`` is None for a config that was given as a mapping."""

    inspected: Inspected
    source: Source | None


@contextmanager
def opened_models(
    targets: Sequence[ModelToCompare], source: SourceChoice
) -> Iterator[list[ModelBeingCompared]]:
    """The models, read at the same time, with their sources still open. Raises what ``inspect``
    raises, of the first that fails."""
    sources: list[Source] = []
    tasks = [partial(_read, model, source, sources.append) for model in targets]
    try:
        models = []
        for result in run_all(tasks, _AT_ONCE):  # each waits mostly for the network
            if isinstance(result, HfinspectError):
                raise result
            models.append(result)
        yield models
    finally:
        for one in sources:
            with suppress(HfinspectError):
                one.close()


def _read(
    model: ModelToCompare, choice: SourceChoice, opened: Callable[[Source], None]
) -> ModelBeingCompared:
    if config_given(model.target) is not None:
        inspected = inspect_target(
            model.target, model.access, source=choice, overrides=model.overrides
        )
        return ModelBeingCompared(inspected, None)
    ref = of_pipeline(model.access.resolve(model.target))
    access = model.access.started()
    source = access.open(ref)
    opened(source)
    with errors_about(ref):
        inspected = inspect_opened(
            str(model.target), ref, source, access, source=choice, overrides=model.overrides
        )
    access.check(ref)
    return ModelBeingCompared(inspected, source)


def compared_models(
    targets: Sequence[ModelToCompare],
    source: SourceChoice,
    names: Sequence[str] | None = None,
    method: str | None = None,
    announce: Announce | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Every model against the first: structure, equal files, and where ``method`` is ``sample`` or
    ``values`` the weights. Raises UsageError for a model that has none."""
    with opened_models(targets, source) as models:
        shown = [model.inspected.inspection for model in models]
        if names is not None:
            shown = [replace(one, target=name) for one, name in zip(shown, names, strict=True)]
        comparison = compare(shown, [model.inspected.prediction for model in models])
        first, *others = models
        hashed = _hashed_files(first)  # once, however many are compared with it
        differences = [
            replace(
                difference,
                files=_equal_files(hashed, _hashed_files(other)),
                weights=None
                if method is None
                else _METHODS[method](_with_bytes(first), _with_bytes(other), announce, progress),
            )
            for other, difference in zip(others, comparison.differences, strict=True)
        ]
    return replace(comparison, differences=tuple(differences))


def _hashed_files(model: ModelBeingCompared) -> HashedFiles | None:
    """None for a config that was given as a mapping."""
    return None if model.source is None else HashedFiles.of(model.source)


def _equal_files(first: HashedFiles | None, other: HashedFiles | None) -> FileIdentity | None:
    """Equal files by hashes that are known already; None where there are none."""
    return None if first is None or other is None else identity(first, other)


def _with_bytes(model: ModelBeingCompared) -> ModelWithBytes:
    source = model.source
    if source is None:
        raise UsageError("a config", "has no weights to compare", expected="a model with files")
    while isinstance(source, SourceLayer):  # what keeps headers is to keep no weights
        source = source.inner
    return ModelWithBytes(source, model.inspected)
