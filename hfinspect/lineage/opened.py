"""Models that stay open while they are compared."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from ..analysis.differences import Comparison, compare
from ..core.choices import SourceChoice
from ..core.config import config_given
from ..core.progress import Progress
from ..core.weight_changes import FileIdentity
from ..errors import HfinspectError, UsageError
from ..inspecting.build import Inspected
from ..inspecting.inspect_run import inspect_opened, inspect_target, of_pipeline
from ..sources.layer import SourceLayer
from ..sources.opening import Access, errors_about
from ..sources.pool import run_all
from ..sources.source import Source
from .equal_files import HashedFiles, identity
from .weight_reading import Announce, ModelWithBytes, compared_whole, sampled

#: Models that are read at the same time.
_AT_ONCE: Final = 8
_METHODS: Final = {"sample": sampled, "values": compared_whole}


class ModelToCompare(NamedTuple):
    """A model to compare: its name, how it is reached, and the config keys that it changes."""

    given: object
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
    tasks = [partial(_read, target, source, sources.append) for target in targets]
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
    target: ModelToCompare, choice: SourceChoice, opened: Callable[[Source], None]
) -> ModelBeingCompared:
    if config_given(target.given) is not None:
        inspected = inspect_target(
            target.given, target.access, source=choice, overrides=target.overrides
        )
        return ModelBeingCompared(inspected, None)
    ref = of_pipeline(target.access.resolve(target.given))
    access = target.access.started()
    source = access.open(ref)
    opened(source)
    with errors_about(ref):
        inspected = inspect_opened(
            str(target.given), ref, source, access, source=choice, overrides=target.overrides
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
