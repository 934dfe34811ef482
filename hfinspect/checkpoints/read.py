"""Reading a model: its small JSON files and the headers of its weights, in as few rounds as
possible and everything of a round at once."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import cast

from ..core.checkpoint import Checkpoint, Finding
from ..core.original_names import PARAMS_FILE, config_of_params, is_rank
from ..core.progress import Count, Progress
from ..core.records import dataclass
from ..errors import ConfigError, HfinspectError, NothingToInspectError, UnsupportedFormatError
from ..layers.sentence_modules import CONFIG_FILES
from ..sources.local import HIDDEN
from ..sources.source import FileEntry, Source
from .choose import OtherFile, WeightChoice, choose, unsupported
from .fallback import rounds_of
from .filenames import FileKind, weight_name
from .json_files import QUANTIZATION_FILES
from .one_file import Read, gathered, good, read_json
from .repo_layout import (
    MAX_PARTS,
    PIPELINE_FILE,
    SENTENCE_SETTINGS,
    Layout,
    LayoutPart,
    config_folders,
    config_name,
    declared_folders,
    layout_of,
    module_files,
    naming_files,
    part_folders,
    settings_path,
)
from .sub_models import refuse_models_below
from .variants import Variant, gguf_variants
from .weights import read_weights

#: Small files that say how the weights are to be understood. Each costs one request, if present.
COMPANIONS = ("adapter_config.json", *QUANTIZATION_FILES)
#: Files of formats that are not read that an error names.
_SHOWN = 5


@dataclass(frozen=True)
class ModelFiles:
    """What was read of a model.

    ``config`` is config.json, None if there is none or it is broken: then ``config_error`` says
    how. ``companions`` are further JSON objects by name; those that could not be read are in
    ``findings``. ``checkpoint`` is None where there are no weights of a format that is read, where
    none were wanted, and for a pipeline: there ``parts`` has all, while for sentence-transformers
    it has the modules after the transformer, or all where they lie in folders. ``declared`` says
    what class the folders are that the repo names (the root's has the empty name), and
    ``declared_class`` what that of ``checkpoint`` is. ``part_configs`` are the configs of these
    folders, ``settings`` what sentence-transformers says of those with a transformer. Unless
    ``listing_complete``, there may be files that ``files`` does not name (``lists_all``).
    ``variants`` are the quantisations to choose from
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
    parts: tuple[LayoutPart, ...] = ()
    declared: Mapping[str, str] = field(default_factory=dict)
    declared_class: str | None = None
    variants: tuple[Variant, ...] = ()
    others: tuple[OtherFile, ...] = ()
    unread: tuple[OtherFile, ...] = ()
    findings: tuple[Finding, ...] = ()
    refused: UnsupportedFormatError | None = None
    part_configs: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    listing_complete: bool = True


def read_model(
    source: Source,
    *,
    file: str | None = None,
    weights: bool = True,
    progress: Progress | None = None,
) -> ModelFiles:
    """Everything that describes a model, without its weights.

    ``file`` picks a weight file or index; ``weights=False`` leaves all of them unread.
    ``progress`` is called with the number of headers that are read, and of all. The config
    is the one next to the weights, or else that of the root. Raises AccessErrors, FormatError or
    ShardIndexError for the weights that were chosen. Neither a broken config is an error here nor
    a model without weights; ``no_weights`` makes one of the latter.
    """
    files = source.list_files()
    of_repo = layout_of(files)
    layout = Layout.SINGLE if file is not None else of_repo
    if file is None:
        refuse_models_below(source.origin, files)
    main, folders = _choices(files, file, layout) if weights else (None, {})
    choices = [choice for choice in (main, *folders.values()) if choice is not None]
    count = Count("headers", progress)
    readings = [
        rounds_of(source, files, choice, files if choice is main else _inside(files, choice), count)
        for choice in choices
    ]
    small = _small_files(files, of_repo, main, list(folders), file)
    if choices and file is None:
        small |= _of_other_parts(files, of_repo)
    first = [name for name in small if name not in QUANTIZATION_FILES]
    tasks = [partial(read_json, source, small[name]) for name in first]
    read, checkpoints = read_weights(source, readings, tasks)
    texts: _Texts = {
        name: cast("Read[object]", good(result)) for name, result in zip(first, read, strict=True)
    }
    notes = _Notes(small)
    main_checkpoint = checkpoints.pop(0) if main is not None else None
    if isinstance(main_checkpoint, UnsupportedFormatError) and file is not None:
        raise main_checkpoint
    declared = notes.declared(texts)
    part_configs = _mappings(texts, {name: _config_path(name, declared[name]) for name in declared})
    settings = _mappings(
        texts, {name: path for name in declared if (path := settings_path(files, name))}
    )
    folder = _beside(files, main, file).rstrip("/")
    config_path = f"{folder}/{config_name(declared.get(folder))}" if folder in declared else ""
    config = texts.pop(config_path if folder and config_path in small else "config.json", None)
    original = _config_of_params(texts, files)
    config = original if config is None else config
    error = None if config is None else _no_object("config.json", config)
    by_folder = dict(zip(folders, checkpoints, strict=True))
    if declared and layout is Layout.MODULES:
        others = {name: kind for name, kind in declared.items() if name != folder}
        by_folder = _named(source, files, others, by_folder, count, weights=weights)
    refused = [
        one for one in (main_checkpoint, *by_folder.values()) if isinstance(one, HfinspectError)
    ]
    parts = tuple(
        LayoutPart(
            folder,
            _checkpoint(one),
            declared.get(folder),
            notes.mapping(f"{folder}/{config_name(declared.get(folder))}", texts),
        )
        for folder, one in by_folder.items()
    )
    if not _names_quantization(config):
        chosen = [name for name in QUANTIZATION_FILES if name in small]
        answers = gathered(source, [partial(read_json, source, small[name]) for name in chosen])
        texts.update(zip(chosen, answers, strict=True))
    companions = {name: notes.mapping(name, texts) for name in COMPANIONS if name in texts}
    if PIPELINE_FILE in texts:
        companions[PIPELINE_FILE] = texts[PIPELINE_FILE].mapping
    if main is not None and _is_adapter(main):
        layout = Layout.ADAPTER
    return ModelFiles(
        files,
        layout,
        None if config is None else config.mapping,
        error,
        {name: value for name, value in companions.items() if value is not None},
        _checkpoint(main_checkpoint),
        parts,
        declared,
        declared.get(folder),
        gguf_variants(files) if main is not None and main.format == "gguf" else (),
        tuple(_left_over(files, main_checkpoint, parts, refused)) if parts else (),
        (*(_refused(files, error) for error in refused), *unsupported(files)),
        (*notes.findings, *_unread_folders(source), *_ranks(files, main)),
        main_checkpoint if isinstance(main_checkpoint, UnsupportedFormatError) else None,
        part_configs,
        settings,
        lists_all(source),
    )


def lists_all(source: Source) -> bool:
    """Whether the list of files is known to name all that a loader would see: neither a part of a
    repo in a cache, nor a folder that may not be read or leads elsewhere."""
    is_passed_over = any(why != HIDDEN for why in source.passed_over.values())
    return source.listing_complete and not source.refused and not is_passed_over


def _unread_folders(source: Source) -> list[Finding]:
    """Folders on disk that may not be read: what lies in them is not counted."""
    return [
        Finding("unreadable", f"the folder {path} was not read: {error.found}", path)
        for path, error in source.refused.items()
    ]


def _choices(
    files: Mapping[str, FileEntry], file: str | None, layout: Layout
) -> tuple[WeightChoice | None, dict[str, WeightChoice]]:
    """The weights of the model itself, and those of the folders that may be its parts."""
    if layout is Layout.SINGLE:
        return choose(files, file), {}
    folders = part_folders(files, layout)
    if layout is Layout.PIPELINE:
        return None, folders
    main = choose({path: entry for path, entry in files.items() if "/" not in path})
    if main is None and len(folders) < 2:  # a transformer in a folder, and nothing after it
        return next(iter(folders.values()), None) or choose(files), {}
    return main, folders


_ByFolder = dict[str, Checkpoint | UnsupportedFormatError]


def _named(
    source: Source,
    files: Mapping[str, FileEntry],
    declared: Mapping[str, str],
    by_folder: _ByFolder,
    count: Count,
    *,
    weights: bool,
) -> _ByFolder:
    """The folders that the repo names, in its order; those of unusual names are read now."""
    inside = {
        folder: {path: entry for path, entry in files.items() if path.rpartition("/")[0] == folder}
        for folder in declared
        if folder and folder not in by_folder
    }
    chosen = {folder: choice for folder in inside if (choice := choose(inside[folder])) and weights}
    readings = [
        rounds_of(source, files, choice, inside[name], count) for name, choice in chosen.items()
    ]
    _, checkpoints = read_weights(source, readings, [])
    by_folder = {**by_folder, **dict(zip(chosen, checkpoints, strict=True))}
    return {folder: by_folder[folder] for folder in declared if folder in by_folder}


def _checkpoint(outcome: Checkpoint | UnsupportedFormatError | None) -> Checkpoint | None:
    return outcome if isinstance(outcome, Checkpoint) else None


def _refused(files: Mapping[str, FileEntry], error: HfinspectError) -> OtherFile:
    entry = files.get(error.subject)
    return OtherFile(error.subject, error.found, entry.size if entry else None)


def _inside(files: Mapping[str, FileEntry], choice: WeightChoice) -> Mapping[str, FileEntry]:
    """The files directly in the folder of a part's weights."""
    folder = folder_of(files, next(iter(choice.files), choice.index))
    return {path: entry for path, entry in files.items() if path.startswith(folder)}


def _paths(choice: WeightChoice) -> set[str]:
    return {*choice.files, choice.index} if choice.index else set(choice.files)


def folder_of(files: Mapping[str, FileEntry], pick: str | None) -> str:
    """The folder that a pick names or lies in, with its slash; empty for the root."""
    if pick is None:
        return ""
    folder = pick.rstrip("/") + "/"
    if pick not in files and any(path.startswith(folder) for path in files):
        return folder
    return pick[: pick.rfind("/") + 1]


def _beside(files: Mapping[str, FileEntry], main: WeightChoice | None, pick: str | None) -> str:
    """The folder whose config is the model's."""
    first = None if main is None else next(iter(main.files), main.index or "")
    return folder_of(files, pick if first is None else first)


def _small_files(
    files: Mapping[str, FileEntry],
    layout: Layout,
    main: WeightChoice | None,
    folders: list[str],
    pick: str | None,
) -> dict[str, str]:
    """Paths of the small files to read, by the names they go under."""
    beside = _beside(files, main, pick)
    places = {name: (f"{beside}{name}", name) for name in ("config.json", *COMPANIONS)}
    names = {config_name(None)}
    if layout is Layout.MODULES and (beside or pick is None):
        names |= set(CONFIG_FILES.values())
        folders = [*folders, beside.rstrip("/")] if beside else folders
    if pick is None or (layout is Layout.MODULES and beside):
        places |= {path: (path, path) for path in naming_files(files)}
    for folder in folders:
        paths = [f"{folder}/{name}" for name in sorted(names)]
        places |= {path: (path, path) for path in paths}
    if main is not None and main.files and _is_original(main.files):
        places[PARAMS_FILE] = (f"{beside}{PARAMS_FILE}", PARAMS_FILE)
    present = {name: [path for path in paths if path in files] for name, paths in places.items()}
    return {name: paths[0] for name, paths in present.items() if paths}


def _is_original(files: Sequence[str]) -> bool:
    """Whether weights are those of Mistral's or Meta's code; of several ranks each has a part."""
    name = weight_name(files[0])
    return name is not None and name.kind is FileKind.ORIGINAL


def _ranks(files: Mapping[str, FileEntry], main: WeightChoice | None) -> list[Finding]:
    """What there is to say where only one of Meta's files is read."""
    if main is None or not any(map(is_rank, main.files)):
        return []
    count = sum(map(is_rank, files))
    text = f"is one of {count} ranks of a tensor-parallel run, each with a part of every matrix"
    return [Finding("ranks", text, main.files[0])] if count > 1 else []


def _config_of_params(texts: "_Texts", files: Mapping[str, FileEntry]) -> Read[object] | None:
    """What params.json says, as a config.json; None where weights are split by rank, too."""
    params = texts.pop(PARAMS_FILE, None)
    if params is None or params.mapping is None or sum(map(is_rank, files)) > 1:
        return None
    config = config_of_params(params.mapping)
    return None if config is None else replace(params, value=config)


def _of_other_parts(files: Mapping[str, FileEntry], layout: Layout) -> dict[str, str]:
    """Paths of the configs of parts that have no weights of their own, or none that are there."""
    if layout is Layout.PIPELINE:
        paths = [f"{folder}/config.json" for folder in config_folders(files)[:MAX_PARTS]]
    elif layout is Layout.MODULES:
        names = {"config.json", *CONFIG_FILES.values(), *SENTENCE_SETTINGS}
        paths = [path for path in module_files(files) if path.rpartition("/")[2] in names]
    else:
        paths = []
    return {path: path for path in paths}


_Texts = dict[str, Read[object]]


def _config_path(folder: str, declared: str) -> str:
    return f"{folder}/{config_name(declared)}".lstrip("/")


def _mappings(texts: _Texts, paths: Mapping[str, str]) -> dict[str, Mapping[str, object]]:
    """The JSON objects among some files that were read, under the names that they are known by."""
    reads = {name: texts[path].mapping for name, path in paths.items() if path in texts}
    return {name: mapping for name, mapping in reads.items() if mapping is not None}


@dataclass()
class _Notes:
    """What the small files say, and findings about those that say nothing."""

    paths: Mapping[str, str]
    findings: list[Finding] = field(default_factory=list)

    def mapping(self, name: str, texts: _Texts) -> Mapping[str, object] | None:
        read = texts.get(name)
        error = None if read is None else _no_object(name, read)
        if error is not None:
            self._unreadable(name, error)
        return None if read is None else read.mapping

    def declared(self, texts: _Texts) -> dict[str, str]:
        """Folder -> class, as the files say that name the parts."""
        naming = {name: texts[name] for name in naming_files(texts)}
        broken = {name: read.error for name, read in naming.items() if read.error is not None}
        for name, error in broken.items():
            self._unreadable(name, error)
        try:  # with one of them broken, what the others do not name may all the same be a part
            contents = {name: read.value for name, read in naming.items()}
            return {} if broken else declared_folders(contents)
        except ConfigError as error:
            self._unreadable(error.subject, error)
            return {}

    def _unreadable(self, name: str, error: HfinspectError) -> None:
        self.findings.append(Finding("unreadable", str(error), self.paths[name]))


def _names_quantization(config: Read[object] | None) -> bool:
    """Whether config.json says itself how the weights are packed."""
    values = None if config is None else config.mapping
    section = None if values is None else values.get("quantization_config")
    return isinstance(section, dict) and isinstance(section.get("quant_method"), str)


def _no_object(name: str, read: Read[object]) -> HfinspectError | None:
    """Why a file is not a JSON object; ``null`` is passed over as a file that says nothing."""
    if read.error is not None or read.value is None or read.mapping is not None:
        return read.error
    return ConfigError(name, "is not a JSON object")


def _is_adapter(choice: WeightChoice) -> bool:
    names = [weight_name(path) for path in choice.files]
    return bool(names) and all(name is not None and name.kind is FileKind.ADAPTER for name in names)


def _left_over(
    files: Mapping[str, FileEntry],
    main_checkpoint: object,
    parts: tuple[LayoutPart, ...],
    refused: Sequence[HfinspectError],
) -> list[OtherFile]:
    """Weight files that no part has used or accounted for."""
    known = {error.subject for error in refused}
    for checkpoint in (main_checkpoint, *(part.checkpoint for part in parts)):
        if isinstance(checkpoint, Checkpoint):
            known.update(shard.file for shard in checkpoint.shards)
            known.update(checkpoint.others)
    names = [weight_name(path) for path in files]
    return [
        OtherFile(name.path, "belongs to no component", files[name.path].size)
        for name in names
        if name
        and not name.is_index
        and name.kind is not FileKind.FOREIGN
        and name.path not in known
    ]


def read_checkpoint(source: Source, *, file: str | None = None) -> Checkpoint:
    """The weights alone. Raises NothingToInspectError or UnsupportedFormatError where there are
    none, else as ``read_model``."""
    files = source.list_files()
    choice = choose(files, file)
    if choice is None:
        raise no_weights(source, files)
    rounds = rounds_of(source, files, choice, files, Count("headers", None))
    _, [checkpoint] = read_weights(source, [rounds], [])
    if isinstance(checkpoint, UnsupportedFormatError):
        raise checkpoint
    return checkpoint


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
    if source.refused and "config.json" not in files:
        return next(iter(source.refused.values()))
    if "config.json" in files:
        return NothingToInspectError(name, "holds no weights", hint="read its config.json instead")
    return NothingToInspectError(name, "holds neither weights nor a config.json")
