"""From a target to what is inside it: opened once, read once, its prediction made once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, TypeVar

from ..checkpoints.json_files import PIPELINE_FILE
from ..checkpoints.one_file import read_config
from ..core.checkpoint import Finding
from ..core.choices import SourceChoice
from ..core.given_config import config_given
from ..core.refs import ModelRef, Origin
from ..core.results import Inspection
from ..errors import UsageError
from ..sources.opening import Access
from ..sources.source import Source
from .build import Inspected
from .config_alone import no_config
from .overriding import inspect_config

if TYPE_CHECKING:
    from ..checkpoints.read import ModelFiles
    from .adapter import Inspect


T = TypeVar("T")

#: What reads weights: in a program that has read a model there is nothing left to import.
_READING = f"{__package__.rpartition('.')[0]}.checkpoints.read"


def inspect_target(
    target: object,
    access: Access,
    *,
    revision: str | None = None,
    source: SourceChoice = "auto",
    file: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    unsized: bool = False,
) -> Inspected:
    """As ``api.inspect``, with what the result was made from. ``unsized``: a model of which nothing
    says how large it is, is a result without tensors instead of an error."""
    config = config_given(target)
    if config is not None:
        from_config = _FromConfig("config", Origin("mapping", "config"), overrides, unsized)
        return with_usual_items(from_config.of(config))
    ref = of_pipeline(access.resolve(target, revision))
    access = access.started()
    with access.opened(ref) as opened:
        return inspect_opened(
            str(target),
            ref,
            opened,
            access,
            source=source,
            file=file,
            overrides=overrides,
            unsized=unsized,
        )


def inspect_opened(
    name: str,
    ref: ModelRef,
    opened: Source,
    access: Access,
    *,
    source: SourceChoice = "auto",
    file: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    unsized: bool = False,
) -> Inspected:
    """The same of a source that is open already."""
    from_config = _FromConfig(name, opened.origin, overrides, unsized)
    picked = json_of(ref) or ref.file or file
    if is_config_file(picked):
        if source == "checkpoint":
            raise UsageError(name, "is a config, but only weights were to be read")
        config = read_config(opened, picked)
        if config is None:
            raise no_config(name)
        return with_usual_items(from_config.of(config), opened)

    def reach(base: str) -> Inspection:
        elsewhere = replace(access, listing=None)
        inner = elsewhere.resolve(base)
        with elsewhere.opened(inner) as base_source:
            further = _from_source(
                _FromConfig(base, base_source.origin, None),
                base_source,
                inner.file,
                "auto",
                _no_further,
                elsewhere,
            )
        return further.inspection

    return with_usual_items(
        _from_source(from_config, opened, picked, source, reach, access), opened
    )


def with_usual_items(inspected: Inspected, source: Source | None = None) -> Inspected:
    """With the tokens of a usual image and sound, where the model takes such."""
    inspection = inspected.inspection
    prediction = inspected.prediction
    family = None if prediction is None else prediction.family
    multimodal = family is not None and family.category == "multimodal"
    if inspection.format == "gguf":
        from .usual_tokens_read import usual_of_gguf

        return usual_of_gguf(inspected, source)
    if not multimodal or inspection.config is None or inspection.layout != "model":
        return inspected
    from .usual_tokens_read import usual_of_config

    return usual_of_config(inspected, source)


class _FromConfig(NamedTuple):
    """What config.json promises of a target; ``unsized`` as in ``inspect_target``."""

    name: str
    origin: Origin
    overrides: Mapping[str, Any] | None
    unsized: bool = False

    def of(
        self,
        config: Mapping[str, Any],
        findings: Sequence[Finding] = (),
        companions: Mapping[str, Mapping[str, object]] | None = None,
        layout: str = "model",
    ) -> Inspected:
        return self.or_unsized(
            lambda: inspect_config(
                self.name, self.origin, config, self.overrides, findings, companions, layout
            ),
            config,
        )

    def or_unsized(
        self, make: Callable[[], T], config: Mapping[str, Any] | None = None
    ) -> T | Inspected:
        """What ``make`` gives, or in its place what is known without sizes."""
        if not self.unsized:
            return make()
        from .unsized import UNSIZED, unsized

        try:
            return make()
        except UNSIZED as error:
            return unsized(self.name, self.origin, error, config)


def _from_source(
    from_config: _FromConfig,
    opened: Source,
    file: str | None,
    source: SourceChoice,
    reach: Inspect,
    access: Access,
) -> Inspected:
    name = from_config.name
    overrides = from_config.overrides
    wants_weights = source != "config" and not overrides
    # Not needed for a config alone, and a third of the time that it takes to start. Of the Hub the
    # list is on its way meanwhile, and what is read after it.
    if _READING not in sys.modules and opened.origin.kind == "hub":
        opened = _begun(opened, weights=wants_weights and file is None)
    from ..checkpoints.read import no_weights, read_model
    from ..checkpoints.repo_layout import MODULES_FILE, Layout, config_folders
    from .model import inspect_read
    from .pipelines import inspect_declared, several_models, with_declared
    from .tokenizer_notes import tokenizer_notes

    read = read_model(opened, file=file, weights=wants_weights, progress=access.progress)
    notes: tuple[Finding, ...] = ()
    if read.layout in (Layout.SINGLE, Layout.PIPELINE) and not overrides:
        notes = tokenizer_notes(opened, read, file)
        read = replace(read, findings=(*read.findings, *notes))
    inspected = inspect_read(name, opened.origin, read, reach, _unfinished(opened, read))
    if inspected is not None:
        return inspected
    if source == "checkpoint":
        raise read.refused or no_weights(opened, read.files)
    is_whole_repo = not file and not (overrides and PIPELINE_FILE in read.files)
    several = (
        from_config.or_unsized(partial(inspect_declared, name, opened, overrides, notes))
        if is_whole_repo
        else None
    )
    if several is not None:
        return several
    if read.config is None:
        if read.config_error is not None:
            raise read.config_error
        if PIPELINE_FILE in read.files and overrides:
            raise several_models(name, [(part, None) for part in config_folders(read.files)])
        if not wants_weights:
            raise no_config(name, read.files)
        raise read.refused or no_weights(opened, read.files)
    unread = tuple(
        Finding(
            "unread-weights", f"{other.path} was not read: {other.reason}{other.sized}", other.path
        )
        for other in read.unread
    )
    inspected = from_config.of(
        read.config, (*read.findings, *unread), read.companions, read.layout.value
    )
    is_module = is_whole_repo and MODULES_FILE in read.files
    return with_declared(inspected, opened) if is_module else inspected


def _unfinished(source: Source, read: ModelFiles) -> Sequence[str]:
    """What an interrupted download left; looked for only where a file is missing."""
    if read.checkpoint is None or not read.checkpoint.missing or source.on_disk is None:
        return ()
    from ..sources.disk import leftovers

    return leftovers(source.on_disk)


def _begun(source: Source, *, weights: bool) -> Source:
    from ..checkpoints.prefetch_plan import with_prefetch
    from ..sources.prefetch import PrefetchedSource

    return (
        source if isinstance(source, PrefetchedSource) else with_prefetch(source, weights=weights)
    )


def ready() -> None:
    """Import what reads models, where dozens of threads are about to do so at once."""
    from ..checkpoints import read
    from . import model, pipelines

    assert read and model and pipelines


def of_pipeline(ref: ModelRef) -> ModelRef:
    """A local model_index.json stands for its pipeline."""
    if ref.path is not None and Path(ref.path).name == PIPELINE_FILE:
        return replace(ref, path=str(Path(ref.path).parent))
    return ref


def is_config_file(picked: str | None) -> TypeGuard[str]:
    """Whether what is picked is a config, and no index of weights."""
    return picked is not None and picked.endswith(".json") and not picked.endswith(".index.json")


def json_of(ref: ModelRef) -> str | None:
    """The JSON file that a ref names, as its source calls it: a config or an index."""
    file_name = ref.file if ref.path is None else Path(ref.path).name
    return file_name if file_name is not None and file_name.endswith(".json") else None


def _no_further(base: str) -> Inspection:
    """An adapter's base that is an adapter itself is not followed: it could lead in a circle."""
    raise UsageError(base, "is the base of a base model")
