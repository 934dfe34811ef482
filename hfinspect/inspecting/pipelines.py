"""Models of several parts: diffusers pipelines, sentence-transformers with further modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ..checkpoints.read import ModelFiles
from ..checkpoints.repo_layout import MODULES_FILE, PIPELINE_FILE, Layout, declared_components
from ..checkpoints.small_files import read_config, read_json
from ..core.checkpoint import Finding
from ..core.overrides import Override
from ..core.refs import Origin
from ..core.results import Inspection, Member
from ..errors import ConfigError, HfinspectError, NothingToInspectError, UnknownArchitectureError
from ..sources.source import Source
from ..trees.prediction import Prediction, predict
from .build import from_prediction
from .combined import combined
from .single import inspect_weights

#: The name of the transformer among the modules of sentence-transformers.
MAIN_MODULE = "transformer"

#: Components of a pipeline whose configs are read; real ones have some ten.
_MAX_COMPONENTS = 64
#: Components that an error names.
_SHOWN = 10


def has_parts(read: ModelFiles) -> bool:
    """Whether the weights are to be shown part by part."""
    return any(part.checkpoint is not None for part in read.parts)


def inspect_parts(name: str, origin: Origin, read: ModelFiles) -> Inspection:
    """All parts that have weights, each inspected for itself, and their total."""
    parts: list[tuple[Member, Inspection]] = []
    if read.checkpoint is not None:
        whole = inspect_weights(name, origin, read.checkpoint, read.config, read.companions)
        parts.append((_member(MAIN_MODULE, None, whole), whole))
    for part in read.parts:
        if part.checkpoint is not None:
            where = f"{part.name}/config.json"
            one = inspect_weights(name, origin, part.checkpoint, part.config, where=where)
            parts.append((_member(part.name, part.declared, one), one))
    findings = [*read.findings, *_disagreements(parts)]
    others = {other.path: other.reason for other in (*read.others, *read.unread)}
    inspection = combined(name, origin, read.layout.value, parts, findings)
    return replace(
        inspection,
        architecture=_class_of(read.companions.get(PIPELINE_FILE)) or inspection.architecture,
        other_files={**inspection.other_files, **others},
    )


class DeclaredPart(NamedTuple):
    """A component of a pipeline: its folder, the class that the pipeline names, its config, and
    what that promises or why it promises nothing, and which keys of it were changed."""

    name: str
    declared: str
    config: Mapping[str, object]
    found: Prediction | HfinspectError
    overrides: tuple[Override, ...] = ()


class DeclaredPipeline(NamedTuple):
    """What a model_index.json names, of that what has a config.json."""

    class_name: str | None
    parts: tuple[DeclaredPart, ...]


def declared_pipeline(opened: Source) -> DeclaredPipeline | None:
    """A pipeline by its small files alone; None where it is no pipeline.

    Raises ConfigError for a malformed model_index.json, and AccessErrors.
    """
    files = opened.list_files()
    if PIPELINE_FILE not in files:
        return None
    content = read_json(opened, PIPELINE_FILE)
    declared = declared_components(content)
    folders = [key for key in declared if f"{key}/config.json" in files][:_MAX_COMPONENTS]
    tasks = [partial(read_config, opened, f"{folder}/config.json") for folder in folders]
    parts = []
    for folder, config in zip(folders, opened.gather(tasks), strict=True):
        values = config if isinstance(config, Mapping) else {}
        found = config if isinstance(config, HfinspectError) else _predicted(values)
        parts.append(DeclaredPart(folder, declared[folder], values, found))
    return DeclaredPipeline(_class_of(content), tuple(parts))


def _predicted(config: Mapping[str, object]) -> Prediction | HfinspectError:
    try:
        return predict(config)
    except (ConfigError, UnknownArchitectureError) as error:
        return error


def several_models(name: str, parts: Sequence[str]) -> NothingToInspectError:
    """The error for a pipeline where one model is needed."""
    shown = ", ".join(parts[:_SHOWN]) + (", ..." if len(parts) > _SHOWN else "")
    return NothingToInspectError(
        name,
        "is a pipeline of several models",
        expected="one of them",
        hint=f"name its folder: --file {parts[0]} (there are {shown})" if parts else None,
    )


def inspect_declared(name: str, opened: Source) -> Inspection | None:
    """A pipeline from the config.json of its components alone; None where it is no pipeline.

    A component that the catalog does not know has unknown parameters. Raises NothingToInspectError
    where no component has a config.
    """
    pipeline = declared_pipeline(opened)
    if pipeline is None:
        return None
    parts: list[tuple[Member, Inspection]] = []
    findings: list[Finding] = []
    for folder, declared, config, found, _ in pipeline.parts:
        if isinstance(found, HfinspectError):
            findings.append(Finding(found.kind, f"{folder}: {found}", f"{folder}/config.json"))
            continue
        one = from_prediction(name, opened.origin, found, config=config)
        parts.append((_member(folder, declared, one), one))
    if not parts:
        raise NothingToInspectError(name, "has no component whose config.json is known")
    inspection = combined(name, opened.origin, Layout.PIPELINE.value, parts, findings)
    unknown = len(parts) < len(pipeline.parts)
    return replace(
        inspection,
        architecture=pipeline.class_name,
        parameters=None if unknown else inspection.parameters,
        logical=None if unknown else inspection.logical,
    )


def has_modules(read: ModelFiles) -> bool:
    """Whether this is a sentence-transformers model of a transformer alone."""
    return MODULES_FILE in read.files and not has_parts(read)


def _member(name: str, declared: str | None, one: Inspection) -> Member:
    return Member(
        name=name,
        declared=declared,
        architecture=one.architecture,
        catalogued=one.catalogued,
        parameters=one.parameters,
        predicted=None if one.expectation is None else one.expectation.parameters,
        nbytes=one.nbytes,
        dtypes=tuple(one.dtypes),
        files=tuple(file.path for file in one.files),
        complete=one.complete,
        quantization=one.quantization,
    )


def _disagreements(parts: Sequence[tuple[Member, Inspection]]) -> list[Finding]:
    return [
        Finding(
            "config-differs",
            f"{member.name}: config.json predicts {member.predicted:,} parameters, the files hold "
            f"{member.parameters:,}",
            severity="note",
        )
        for member, _ in parts
        if None not in (member.predicted, member.parameters)
        and member.predicted != member.parameters
    ]


def _class_of(content: object) -> str | None:
    found = content.get("_class_name") if isinstance(content, Mapping) else None
    return found if isinstance(found, str) else None
