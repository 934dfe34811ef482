"""Models of several parts: diffusers pipelines, sentence-transformers with further modules."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..checkpoints.one_file import gathered, read_config, read_json
from ..checkpoints.read import ModelFiles, lists_all
from ..checkpoints.repo_layout import (
    MODULES_FILE,
    PIPELINE_FILE,
    Layout,
    config_name,
    declared_folders,
    naming_files,
    settings_path,
)
from ..core.checkpoint import Finding
from ..core.overrides import Override
from ..core.refs import Origin
from ..core.results import Inspection, Member
from ..core.text import first_of
from ..errors import (
    ConfigError,
    HfinspectError,
    MalformedError,
    NoComponentError,
    NothingToInspectError,
    UnknownArchitectureError,
)
from ..layers.sentence_modules import FAMILY, TRANSFORMERS, own_class
from ..sources.source import Source
from ..trees.prediction import Prediction
from .build import Inspected, from_prediction
from .combined import combined
from .declared_class import is_model, predict_as, sized_elsewhere
from .judging.parts_declared import PartsEvidence, holds_weights, weights_there
from .judging.parts_there import judged_with_parts, lacking
from .overriding import changed
from .single import inspect_weights

#: The name of the transformer among the modules of sentence-transformers.
MAIN_MODULE = "transformer"

#: Parts whose configs are read; real models have some ten.
_MAX_PARTS = 64
#: Components that an error names.
_SHOWN = 10


def has_parts(read: ModelFiles) -> bool:
    """Whether the weights are to be shown part by part."""
    return any(part.checkpoint is not None for part in read.parts)


def inspect_parts(name: str, origin: Origin, read: ModelFiles) -> Inspection:
    """All parts that have weights, each inspected for itself, and their total."""
    parts: list[tuple[Member, Inspection]] = []
    if read.checkpoint is not None:
        kind = read.declared_class
        inspected = inspect_weights(
            name, origin, read.checkpoint, read.config, read.companions, declared=kind
        ).inspection
        parts.append((_member(_root_name(kind), kind, inspected), inspected))
    evidence = evidence_of(read)
    for part in read.parts:
        if part.checkpoint is not None:
            where = f"{part.name}/{config_name(part.declared)}"
            one = inspect_weights(
                name, origin, part.checkpoint, part.config, declared=part.declared, where=where
            ).inspection
            parts.append((_member(part.name, part.declared, one), one))
    findings = [*read.findings, *_disagreements(parts)]
    others = {other.path: other.reason for other in (*read.others, *read.unread)}
    return combined(
        name,
        origin,
        read.layout.value,
        parts,
        findings,
        architecture=evidence.class_name,
        other_files=others,
        all_known=not (lacking(evidence) or _uncounted(evidence, [member for member, _ in parts])),
        evidence=evidence,
    )


def evidence_of(read: ModelFiles) -> PartsEvidence:
    """What a repo of several parts declares, as it was read."""
    is_pipeline = read.layout is Layout.PIPELINE
    return PartsEvidence(
        PIPELINE_FILE if is_pipeline else MODULES_FILE,
        _class_of(read.companions.get(PIPELINE_FILE)),
        read.declared,
        read.part_configs,
        read.files,
        read.settings,
        read.listing_complete,
    )


def _uncounted(evidence: PartsEvidence, members: Sequence[Member]) -> list[str]:
    """Parts whose weights are there in a form that is not read, so that no sum has them."""
    counted = {folder_of(member) for member in members}
    return [
        part
        for part in evidence.parts
        if part not in counted and holds_weights(evidence, part) and weights_there(evidence, part)
    ]


class DeclaredPart(NamedTuple):
    """A part of a model of several: its folder, the class that the repo names, its config, and
    what that predicts or why it predicts nothing, and which keys of it were changed."""

    name: str
    declared: str
    config: Mapping[str, object]
    prediction: Prediction | HfinspectError
    overrides: tuple[Override, ...] = ()
    findings: tuple[Finding, ...] = ()


class DeclaredModel(NamedTuple):
    """The parts that a model_index.json or modules.json names, of these what has weights;
    ``missing`` are configs that should be there, of parts that may have weights or none;
    ``evidence`` is all that is declared, next to what lies there."""

    layout: Layout
    class_name: str | None
    parts: tuple[DeclaredPart, ...]
    missing: tuple[str, ...]
    evidence: PartsEvidence

    @property
    def is_single(self) -> bool:
        """Whether nothing with weights comes after a transformer in the root."""
        return self.layout is Layout.MODULES and [part.name for part in self.parts] == [""]


def declared_model(
    opened: Source, overrides: Mapping[str, Any] | None = None
) -> DeclaredModel | None:
    """A model of several parts by its small files alone; None where nothing declares any.

    ``overrides`` change the config of the root, which only sentence-transformers have. Raises
    ConfigError for a malformed file that names parts, UsageError for overrides, and AccessErrors.
    """
    files = opened.list_files()
    paths = naming_files(files)
    if not paths or (PIPELINE_FILE not in paths and MODULES_FILE not in paths):
        return None
    naming = gathered(opened, [partial(read_json, opened, path) for path in paths])
    texts = {read.path: read.strict() for read in naming}
    layout = Layout.PIPELINE if PIPELINE_FILE in paths else Layout.MODULES
    all_declared = declared_folders(texts)
    places: dict[str, tuple[str, str]] = {}
    missing = []
    for folder, declared in all_declared.items():
        path = f"{folder}/{config_name(declared)}".lstrip("/")
        if len(places) < _MAX_PARTS and (path in files or layout is Layout.MODULES):
            places[folder] = (declared, path)
        elif path not in files and is_model(declared, {"model_type": ""}):
            missing.append(path)
    settings = {
        folder: place for folder in places if (place := settings_path(files, folder)) is not None
    }
    paths = [*(path for _, path in places.values()), *settings.values()]
    configs = opened.gather([partial(read_config, opened, path) for path in paths])
    parts = []
    mappings: dict[str, Mapping[str, object]] = {}
    for (folder, (declared, _)), config in zip(places.items(), configs, strict=False):
        values = config if isinstance(config, Mapping) else {}
        if isinstance(config, Mapping):
            mappings[folder] = config
        if isinstance(config, HfinspectError):
            parts.append(DeclaredPart(folder, declared, values, config))
        elif is_model(declared, config):
            parts.append(_part(folder, declared, config, None if folder else overrides))
    further = zip(settings, configs[len(places) :], strict=True)
    evidence = PartsEvidence(
        PIPELINE_FILE if layout is Layout.PIPELINE else MODULES_FILE,
        _class_of(texts.get(PIPELINE_FILE)),
        all_declared,
        mappings,
        files,
        {folder: values for folder, values in further if isinstance(values, Mapping)},
        lists_all(opened),
    )
    return DeclaredModel(layout, evidence.class_name, tuple(parts), tuple(missing), evidence)


def _part(
    folder: str,
    declared: str,
    config: Mapping[str, Any] | None,
    overrides: Mapping[str, Any] | None,
) -> DeclaredPart:
    try:
        if overrides and own_class(declared) not in FAMILY.classes:
            overridden = changed(config or {}, overrides)
            return DeclaredPart(
                folder,
                declared,
                overridden.config,
                overridden.prediction,
                overridden.overrides,
                overridden.findings,
            )
        prediction = None if config is None else predict_as(declared, config)
        return DeclaredPart(folder, declared, config or {}, prediction or sized_elsewhere(declared))
    except (ConfigError, UnknownArchitectureError) as error:
        return DeclaredPart(folder, declared, config or {}, error)


def several_models(name: str, parts: Sequence[tuple[str, str | None]]) -> NothingToInspectError:
    """The error for a model of several parts (folder and declared class of each) where one is
    needed; names those whose config describes a whole model, so not a Dense after a transformer."""
    picks = [part or "config.json" for part, kind in parts if own_class(kind) not in FAMILY.classes]
    shown = ", ".join(picks[:_SHOWN]) + (", ..." if len(picks) > _SHOWN else "")
    error = NothingToInspectError(
        name,
        "is a model of several parts",
        expected="one of them",
        hint=f"name one of them as its file: {shown}" if picks else None,
    )
    error.argument = ("file", picks[0]) if picks else None
    return error


def inspect_declared(
    name: str,
    opened: Source,
    overrides: Mapping[str, Any] | None = None,
    notes: Sequence[Finding] = (),
) -> Inspected | None:
    """A model of several parts from the configs of these alone; None where it is a single one.

    A part that the catalog does not know has unknown parameters. Raises NothingToInspectError
    where no part has a config that is known.
    """
    model = declared_model(opened, overrides)
    if model is None or model.is_single:
        return None
    parts: list[tuple[Member, Inspection]] = []
    findings = [*notes]
    changes: list[Override] = []
    for part in model.parts:
        place = f"{part.name}/{config_name(part.declared)}".lstrip("/")
        if isinstance(part.prediction, HfinspectError):
            text = f"{part.name or 'the root'}: {part.prediction}: its bytes are unknown"
            findings.append(Finding(part.prediction.kind, text, place))
            continue
        one = from_prediction(
            name, opened.origin, part.prediction, config=part.config, findings=part.findings
        )
        parts.append((_member(part.name or _root_name(part.declared), part.declared, one), one))
        changes += part.overrides
    if not parts:
        raise _no_component(name, model)
    if model.missing:
        text = f"{not_there(model.missing)}: parameters and bytes of the whole are unknown"
        findings.append(Finding("missing-component", text, PIPELINE_FILE))
    inspection = combined(
        name,
        opened.origin,
        model.layout.value,
        parts,
        findings,
        architecture=model.class_name,
        overrides=tuple(changes),
        all_known=len(parts) == len(model.parts)
        and not model.missing
        and not lacking(model.evidence),
        evidence=model.evidence,
    )
    return Inspected(inspection)


def with_declared(inspected: Inspected, opened: Source) -> Inspected:
    """A transformer alone from its config, with what its repo declares next to it."""
    model = declared_model(opened)
    if model is None:
        return inspected
    return inspected._replace(inspection=judged_with_parts(inspected.inspection, model.evidence))


def not_there(missing: Sequence[str]) -> str:
    """``vae/config.json is not there``: the configs of components that a pipeline lacks."""
    return f"{first_of(missing, _SHOWN)} {'is' if len(missing) == 1 else 'are'} not there"


def _no_component(name: str, model: DeclaredModel) -> NothingToInspectError:
    """The error where no part has a config that is known: one that is broken is no missing one."""
    missing = ", ".join(model.missing[:_SHOWN])
    problem = "has no component whose config.json is known"
    if any(isinstance(part.prediction, MalformedError) for part in model.parts):
        return NothingToInspectError(name, problem, expected=missing or None)
    error = NoComponentError(
        name,
        f"{problem}: the configs that it names are not there" if missing else problem,
        expected=missing or None,
    )
    error.missing = model.missing
    return error


def _root_name(declared: str | None) -> str:
    """The name of the module in the root, which has no folder of its own."""
    class_name = own_class(declared)
    return MAIN_MODULE if class_name is None or class_name in TRANSFORMERS else class_name


def folder_of(member: Member) -> str:
    """Where a part lies; empty for the root, whose part has the name of what it is."""
    in_root = member.name in (MAIN_MODULE, own_class(member.declared))
    return "" if in_root else member.name


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
        whole=one.whole,
        quantization=one.quantization,
        facts=one.facts,
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
    class_name = content.get("_class_name") if isinstance(content, Mapping) else None
    return class_name if isinstance(class_name, str) else None
