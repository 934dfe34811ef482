"""Reading a model: its small JSON files and the headers of its weights, in as few rounds as
possible and everything of a round at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..core.checkpoint import Checkpoint, Finding
from ..errors import (
    ConfigError,
    HfinspectError,
    NothingToInspectError,
    UnsupportedFormatError,
)
from ..sources.source import FileEntry, Source
from .choose import Choice, OtherFile, choose, unsupported
from .filenames import Kind, weight_name
from .next_choice import rounds_of
from .repo_layout import (
    MODULES_FILE,
    PIPELINE_FILE,
    Layout,
    Part,
    declared_components,
    declared_modules,
    layout_of,
    part_folders,
)
from .small_files import read_json
from .variants import Variant, gguf_variants
from .weights import read_weights

#: Small files that say how the weights are to be understood. Each costs one request, if present.
COMPANIONS = ("adapter_config.json", "hf_quant_config.json", "quantize_config.json")
#: Files of formats that are not read that an error names.
_SHOWN = 5
#: Of the companions, what says again what config.json says, where that does.
_IF_NOT_IN_CONFIG = ("hf_quant_config.json", "quantize_config.json")


@dataclass(frozen=True)
class ModelFiles:
    """What was read of a model.

    ``config`` is config.json, None if there is none or it is broken: then ``config_error`` says
    how. ``companions`` are further JSON objects by name; those that could not be read are in
    ``findings``. ``checkpoint`` is None where there are no weights of a format that is read, where
    none were wanted, and for a pipeline: there ``parts`` has all, while for sentence-transformers
    it has the modules after the transformer. ``variants`` are the quantisations to choose from
    where the weights are GGUF. ``others`` are weight files that belong to no part of a pipeline,
    ``unread`` those of formats that are not read. ``refused`` is why ``checkpoint`` is None where
    weights were chosen by their names and are something else.
    """

    files: Mapping[str, FileEntry]
    layout: Layout = Layout.SINGLE
    config: Mapping[str, object] | None = None
    config_error: HfinspectError | None = None
    companions: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    checkpoint: Checkpoint | None = None
    parts: tuple[Part, ...] = ()
    variants: tuple[Variant, ...] = ()
    others: tuple[OtherFile, ...] = ()
    unread: tuple[OtherFile, ...] = ()
    findings: tuple[Finding, ...] = ()
    refused: UnsupportedFormatError | None = None


def read_model(source: Source, *, file: str | None = None, weights: bool = True) -> ModelFiles:
    """Everything that describes a model, without its weights.

    ``file`` picks a weight file or index; ``weights=False`` leaves all of them unread. The config
    is the one beside the weights, or else that of the root. Raises AccessErrors, FormatError or
    ShardIndexError for the weights that were chosen. Neither a broken config is an error here nor
    a model without weights; ``no_weights`` makes one of the latter.
    """
    files = source.list_files()
    layout = Layout.SINGLE if file is not None else layout_of(files)
    main = choose(files, file) if weights and layout is not Layout.PIPELINE else None
    folders: dict[str, Choice] = {}
    if weights and layout is not Layout.SINGLE:
        used = _paths(main) if main else set()
        folders = {
            folder: choice
            for folder, choice in part_folders(files, layout).items()
            if not used & _paths(choice)
        }
    choices = [choice for choice in (main, *folders.values()) if choice is not None]
    readings = [
        rounds_of(source, files, choice, files if choice is main else _inside(files, choice))
        for choice in choices
    ]
    small = _small_files(files, layout, main, list(folders), file)
    first = [name for name in small if name not in _IF_NOT_IN_CONFIG]
    tasks = [partial(read_json, source, small[name]) for name in first]
    read, checkpoints = read_weights(source, readings, tasks)
    texts = dict(zip(first, read, strict=True))
    notes = _Notes(small)
    config = texts.pop("config.json", None)
    error = _config_error(config)
    whole = checkpoints.pop(0) if main is not None else None
    if isinstance(whole, UnsupportedFormatError) and file is not None:
        raise whole
    refused = [found for found in (whole, *checkpoints) if isinstance(found, HfinspectError)]
    declared = notes.declared(layout, texts)
    parts = tuple(
        Part(
            folder,
            _checkpoint(found),
            declared.get(folder),
            notes.mapping(f"{folder}/config.json", texts),
        )
        for folder, found in zip(folders, checkpoints, strict=True)
    )
    if not _names_quantization(config):
        late = [name for name in _IF_NOT_IN_CONFIG if name in small]
        found = source.gather([partial(read_json, source, small[name]) for name in late])
        texts.update(zip(late, found, strict=True))
    companions = {name: notes.mapping(name, texts) for name in COMPANIONS if name in texts}
    if isinstance(pipeline := texts.get(PIPELINE_FILE), dict):
        companions[PIPELINE_FILE] = pipeline
    if main is not None and _is_adapter(main):
        layout = Layout.ADAPTER
    return ModelFiles(
        files,
        layout,
        config if isinstance(config, dict) else None,
        error,
        {name: value for name, value in companions.items() if value is not None},
        _checkpoint(whole),
        parts,
        gguf_variants(files) if main is not None and main.format == "gguf" else (),
        tuple(_left_over(files, parts, refused)) if layout is Layout.PIPELINE else (),
        (*(_refused(files, error) for error in refused), *unsupported(files)),
        tuple(notes.findings),
        whole if isinstance(whole, UnsupportedFormatError) else None,
    )


def _checkpoint(found: Checkpoint | UnsupportedFormatError | None) -> Checkpoint | None:
    return found if isinstance(found, Checkpoint) else None


def _refused(files: Mapping[str, FileEntry], error: HfinspectError) -> OtherFile:
    entry = files.get(error.subject)
    return OtherFile(error.subject, error.found, entry.size if entry else None)


def _inside(files: Mapping[str, FileEntry], choice: Choice) -> Mapping[str, FileEntry]:
    """The files directly in the folder of a part's weights."""
    folder = folder_of(files, next(iter(choice.files), choice.index))
    return {path: entry for path, entry in files.items() if path.startswith(folder)}


def _paths(choice: Choice) -> set[str]:
    return {*choice.files, choice.index} if choice.index else set(choice.files)


def folder_of(files: Mapping[str, FileEntry], pick: str | None) -> str:
    """The folder that a pick names or lies in, with its slash; empty for the root."""
    if pick is None:
        return ""
    folder = pick.rstrip("/") + "/"
    if pick not in files and any(path.startswith(folder) for path in files):
        return folder
    return pick[: pick.rfind("/") + 1]


def _small_files(
    files: Mapping[str, FileEntry],
    layout: Layout,
    main: Choice | None,
    folders: list[str],
    pick: str | None,
) -> dict[str, str]:
    """Paths of the small files to read, by the names they go under."""
    first = None if main is None else next(iter(main.files), main.index or "")
    beside = folder_of(files, pick if first is None else first)
    places = {name: (f"{beside}{name}", name) for name in ("config.json", *COMPANIONS)}
    if layout is Layout.PIPELINE:
        places[PIPELINE_FILE] = (PIPELINE_FILE, PIPELINE_FILE)
    if layout is Layout.MODULES:
        places[MODULES_FILE] = (MODULES_FILE, MODULES_FILE)
    for folder in folders:
        path = f"{folder}/config.json"
        places[path] = (path, path)
    found = {name: [path for path in paths if path in files] for name, paths in places.items()}
    return {name: paths[0] for name, paths in found.items() if paths}


@dataclass
class _Notes:
    """What the small files say, and findings about those that say nothing."""

    paths: Mapping[str, str]
    findings: list[Finding] = field(default_factory=list)

    def mapping(self, name: str, texts: Mapping[str, object]) -> Mapping[str, object] | None:
        value = texts.get(name)
        if value is None or isinstance(value, dict):
            return value
        self._unreadable(name, value)
        return None

    def declared(self, layout: Layout, texts: Mapping[str, object]) -> dict[str, str]:
        """Folder -> class, as the file says that names the parts."""
        if layout not in (Layout.PIPELINE, Layout.MODULES):
            return {}
        is_pipeline = layout is Layout.PIPELINE
        name = PIPELINE_FILE if is_pipeline else MODULES_FILE
        content = texts.get(name)
        try:
            if isinstance(content, HfinspectError):
                raise content
            return declared_components(content) if is_pipeline else declared_modules(content)
        except HfinspectError as error:
            self._unreadable(name, error)
            return {}

    def _unreadable(self, name: str, value: object) -> None:
        text = str(value) if isinstance(value, HfinspectError) else f"{name}: is no JSON object"
        self.findings.append(Finding("unreadable", text, self.paths[name]))


def _names_quantization(config: object) -> bool:
    """Whether config.json says itself how the weights are packed."""
    section = config.get("quantization_config") if isinstance(config, dict) else None
    return isinstance(section, dict) and isinstance(section.get("quant_method"), str)


def _config_error(config: object) -> HfinspectError | None:
    if isinstance(config, HfinspectError):
        return config
    if config is None or isinstance(config, dict):
        return None
    return ConfigError("config.json", "is no JSON object")


def _is_adapter(choice: Choice) -> bool:
    names = [weight_name(path) for path in choice.files]
    return bool(names) and all(name is not None and name.kind is Kind.ADAPTER for name in names)


def _left_over(
    files: Mapping[str, FileEntry], parts: tuple[Part, ...], refused: Sequence[HfinspectError]
) -> list[OtherFile]:
    """Weight files that no part has used or accounted for."""
    known = {error.subject for error in refused}
    for part in parts:
        if part.checkpoint is not None:
            known.update(shard.file for shard in part.checkpoint.shards)
            known.update(part.checkpoint.others)
    names = [weight_name(path) for path in files]
    return [
        OtherFile(name.path, "belongs to no component", files[name.path].size)
        for name in names
        if name and not name.is_index and name.kind is not Kind.FOREIGN and name.path not in known
    ]


def read_checkpoint(source: Source, *, file: str | None = None) -> Checkpoint:
    """The weights alone. Raises NothingToInspectError or UnsupportedFormatError where there are
    none, else as ``read_model``."""
    files = source.list_files()
    choice = choose(files, file)
    if choice is None:
        raise no_weights(source, files)
    _, [found] = read_weights(source, [rounds_of(source, files, choice, files)], [])
    if isinstance(found, UnsupportedFormatError):
        raise found
    return found


def no_weights(source: Source, files: Mapping[str, FileEntry]) -> HfinspectError:
    """The error that fits a model without weights that are read."""
    name = source.origin.name
    unread = unsupported(files)
    if unread:
        formats = [f"{item.path}: {item.reason}{item.sized}" for item in unread[:_SHOWN]]
        if len(unread) > _SHOWN:
            formats.append(f"{len(unread) - _SHOWN} more")
        return UnsupportedFormatError(
            name,
            f"holds only weights that are not read ({', '.join(formats)})",
            expected="safetensors, PyTorch or GGUF",
        )
    if "config.json" in files:
        return NothingToInspectError(name, "holds no weights", hint="read its config.json instead")
    return NothingToInspectError(name, "holds neither weights nor a config.json")
