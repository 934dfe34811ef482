"""Files put together: which belong to one copy of some weights, and which copy is the model."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple

from ...analysis.quantization.decode import decode
from ...analysis.quantization.decoding import Decoding
from ...analysis.renamed import Renamed, with_known_names
from ...analysis.tensor_table import TensorTable
from ...checkpoints.agreement import compare_with_index, repeated_tensors
from ...checkpoints.choose import WeightCandidate, candidates, choose
from ...checkpoints.filenames import FileKind
from ...checkpoints.json_files import QUANTIZATION_FILES
from ...checkpoints.one_file import IndexRead, Read
from ...checkpoints.repo_layout import (
    MODULES_FILE,
    PIPELINE_FILE,
    config_name,
    declared_folders,
    naming_files,
)
from ...checkpoints.token_layouts import with_class_ids
from ...checkpoints.token_table import TokenTable
from ...checkpoints.tokenizer_files import SMALL
from ...checkpoints.weight_map import Shards, shards_of
from ...core.checkpoint import Checkpoint
from ...core.original_names import PARAMS_FILE, config_of_params, is_rank
from ...core.refs import Origin
from ...core.wholeness import Problem, by_weight
from ...errors import ConfigError, HfinspectError, MalformedError, UnknownArchitectureError
from ...inspecting.build import ReadContext
from ...inspecting.declared_class import Predicted, predict_as
from ...inspecting.from_checkpoint import from_checkpoint
from ...inspecting.judging.evidence import Evidence
from ...inspecting.judging.gguf_loading import gguf_problems
from ...sources.source import FileEntry
from ...trees.prediction import Prediction
from .parts_judged import problems_between
from .target import Copy, Folder, Judged, WeightFact


class TargetPlace(NamedTuple):
    """Where a target lies, the list of its files, and what an interrupted download left there."""

    origin: Origin
    files: Mapping[str, FileEntry] = {}
    unfinished: Sequence[str] = ()


NOWHERE: Final = TargetPlace(Origin("directory", ""))


def make_folders(
    files: Mapping[str, FileEntry],
    weights: Mapping[str, WeightFact],
    indexes: Mapping[str, IndexRead],
    json_files: Mapping[str, Read[object]],
    tokenizers: Mapping[str, TokenTable],
    predicted: Predicted | None = None,
    place: TargetPlace = NOWHERE,
    *,
    complete: bool = True,
    single: bool = False,
) -> tuple[Folder, ...]:
    """Every directory with weights or a config, the root first; ``predicted`` as in ``judge``.

    Unless ``complete``, there may be files that ``files`` does not name; ``single`` says that one
    file is looked at, and no repo of several parts.
    """
    copies: dict[str, list[Copy]] = {}
    for copy in _copies(files, weights, indexes):
        copies.setdefault(copy.label[: copy.label.rfind("/") + 1], []).append(copy)
    small: dict[str, dict[str, Read[object]]] = {}
    for path, fact in json_files.items():
        folder, _, name = path.rpartition("/")
        small.setdefault(f"{folder}/" if folder else "", {})[name] = fact
    described = {
        path
        for path, facts in small.items()
        if facts.keys() & {"config.json", "adapter_config.json", "model_index.json"}
    }
    declared = _declared(files, json_files)
    repos = () if single else repos_below(json_files)[:MAX_REPOS]
    between = {
        f"{base}/" if base else "": problems_between(base, files, json_files, complete)
        for base in repos
    }
    described |= {path for path, problems in between.items() if problems}
    folders = []
    for path in sorted({"", *copies, *described}):
        copies_here = tuple(copies.get(path, ()))
        main = _main(files, path, copies_here)
        facts = small.get(path, {})
        kind = declared.get(path.rstrip("/"))
        judged = judge(main, facts, kind, predicted, place)
        tokenizer = _tokenizer(path, tokenizers, small)
        folders.append(
            Folder(
                path,
                copies_here,
                main,
                facts,
                tokenizer,
                judged,
                kind,
                between.get(path, ()),
            )
        )
    return tuple(folders)


def _tokenizer(
    path: str, tokenizers: Mapping[str, TokenTable], small: Mapping[str, Mapping[str, Read[object]]]
) -> TokenTable | None:
    """That of a folder; of a pipeline's text encoder the one in the folder next to it."""
    place = path
    if path not in tokenizers and "text_encoder" in path:
        place = "tokenizer".join(path.rsplit("text_encoder", 1))
    reads = [small.get(place, {}).get(name) for name in SMALL[:2]]
    model = small.get(path, {}).get("config.json")
    configs = [(one and one.mapping) or {} for one in reads]
    return with_class_ids(tokenizers.get(place), configs, (model and model.mapping) or {})


#: Files that say which folder of their repo is what.
_NAMING = (MODULES_FILE, PIPELINE_FILE)
#: Repos below the audited folder whose own layout is looked up; a further one is read as it lies.
MAX_REPOS = 256


def repos_below(json_files: Mapping[str, Read[object]]) -> list[str]:
    """The audited folder, and those below it that say which folder of theirs is what."""
    return sorted({"", *(path.rpartition("/")[0] for path in json_files if path.endswith(_NAMING))})


def _declared(
    files: Mapping[str, FileEntry], json_files: Mapping[str, Read[object]]
) -> Mapping[str, str]:
    """Folder -> the class that its repo says it is, of the audited folder and of repos below it;
    what is malformed is a finding elsewhere."""
    classes: dict[str, str] = {}
    for base in repos_below(json_files)[:MAX_REPOS]:
        start = f"{base}/" if base else ""
        inside = [path.removeprefix(start) for path in files if path.startswith(start)]
        read = {path: json_files.get(start + path) for path in naming_files(inside)}
        contents = {path: fact.value for path, fact in read.items() if fact and not fact.error}
        with suppress(ConfigError):
            for folder, kind in declared_folders(contents).items():
                classes.setdefault((start + folder).rstrip("/"), kind)
    return classes


def _copies(
    files: Mapping[str, FileEntry],
    weights: Mapping[str, WeightFact],
    indexes: Mapping[str, IndexRead],
) -> list[Copy]:
    copies = []
    used: set[str] = set()
    ordered = sorted(candidates(files), key=lambda item: item.index is None)
    for item in ordered:
        first = item.first
        if first.kind is FileKind.FOREIGN:
            continue
        fact = indexes.get(item.index) if item.index is not None else None
        shards = _shards(item, fact, files)
        if item.index is None and used.issuperset(shards.present):
            continue  # named by an index under a name that shows no numbering
        used.update(shards.present)
        label = item.index or (shards.present[0] if shards.present else first.path)
        copies.append(
            Copy(
                label,
                first.format,
                first.kind,
                first.stem,
                first.variant,
                tuple(weights[path] for path in shards.present if path in weights),
                shards.missing,
                shards.extra,
                fact,
            )
        )
    return copies


def _shards(
    item: WeightCandidate, index: IndexRead | None, files: Mapping[str, FileEntry]
) -> Shards:
    paths = [name.path for name in item.files]
    return shards_of(paths, item.missing, None if index is None else index.value, files)


def _main(files: Mapping[str, FileEntry], folder: str, copies: tuple[Copy, ...]) -> Copy | None:
    """The copy that is taken for the folder's model."""
    own_files = {
        path: entry for path, entry in files.items() if path[: path.rfind("/") + 1] == folder
    }
    choice = choose(own_files)
    if choice is None:
        return None
    chosen = set(choice.files)
    for copy in copies:
        if choice.index is not None and copy.index is not None:
            if copy.index.path == choice.index:
                return copy
        elif choice.index is None and chosen & {file.path for file in copy.files}:
            return copy
    return None


def as_checkpoint(copy: Copy) -> Checkpoint:
    """A copy as the other verbs see it: the shards whose headers could be read."""
    index = copy.index.value if copy.index is not None else None
    shards = tuple(file.shard for file in copy.files if file.shard is not None)
    unread = tuple(file.path for file in copy.files if not file.sound)
    findings = repeated_tensors(shards)
    if index is not None:
        findings += compare_with_index(shards, index, (*copy.missing, *unread))
    return Checkpoint(
        copy.format,
        shards,
        index,
        findings=tuple(findings),
        missing=copy.missing,
        unread=unread,
    )


def judge(
    main: Copy | None,
    files: Mapping[str, Read[object]],
    declared: str | None = None,
    predicted: Predicted | None = None,
    place: TargetPlace = NOWHERE,
) -> Judged:
    """Nothing to compare without weights or without a config; GGUF, whose names differ, is held
    against its own key-values.

    ``files`` are the JSON files next to the weights, by name; ``declared`` is the class that the
    repo says the folder is; ``predicted`` as in ``predict_as``.
    """
    config = files.get(config_name(declared))
    values = config.mapping if config is not None else _of_params(main, files)
    problems = _gguf_problems(main)
    if values is None:
        return Judged(gguf_problems=problems)
    prediction: Prediction | None = None
    error: HfinspectError | None = None
    try:
        prediction = predict_as(declared, values, predicted)
        if prediction is not None:
            prediction.tensors  # noqa: B018 - expands the tree, which may find it absurd
    except UnknownArchitectureError:
        prediction = None
    except (ConfigError, MalformedError) as caught:
        prediction = None
        error = caught
    comparable = (
        main is not None
        and (main.kind in (FileKind.MODEL, FileKind.WEIGHTS) or config is None)
        and main.format in ("safetensors", "torch")
        and any(file.shard is not None for file in main.files)
    )
    if not comparable or main is None:
        return Judged(None, prediction, Decoding(), error, gguf_problems=problems)
    checkpoint, renamed = with_known_names(as_checkpoint(main), prediction)
    companions = {
        name: fact.mapping
        for name, fact in files.items()
        if name in QUANTIZATION_FILES and fact.mapping is not None
    }
    table = TensorTable(checkpoint.shards)
    decoding = decode(table, values, companions, prediction)
    inspected = from_checkpoint(
        place.origin.name,
        place.origin,
        checkpoint,
        table,
        prediction,
        decoding,
        config=values,
        known=ReadContext(
            files=place.files,
            unfinished=place.unfinished,
            config_error="" if error is None else str(error),
        ),
        companions=companions,
        renamed=renamed,
    )
    as_known = main if renamed is None else _renamed(main, checkpoint, renamed)
    return Judged(
        inspected.inspection, prediction, decoding, error, values, companions, as_known, renamed
    )


def _of_params(main: Copy | None, files: Mapping[str, Read[object]]) -> Mapping[str, object] | None:
    """The config of a copy as Mistral or Meta publish theirs; none where it is split by rank."""
    params = files.get(PARAMS_FILE)
    if main is None or main.kind is not FileKind.ORIGINAL or params is None:
        return None
    ranks = sum(is_rank(file.path) for file in main.files)
    return None if params.mapping is None or ranks > 1 else config_of_params(params.mapping)


def _renamed(main: Copy, checkpoint: Checkpoint, renamed: Renamed) -> Copy:
    """The copy with the names of ``checkpoint``, in its index too."""
    shards = {shard.file: shard for shard in checkpoint.shards}
    files = tuple(
        file if file.shard is None else replace(file, shard=shards[file.shard.file])
        for file in main.files
    )
    index = main.index
    if index is None or index.value is None:
        return replace(main, files=files)
    weight_map = {renamed.of(name): file for name, file in index.value.weight_map.items()}
    value = replace(index.value, weight_map=weight_map)
    return replace(main, files=files, index=replace(index, value=value))


def _gguf_problems(main: Copy | None) -> tuple[Problem, ...]:
    """Why llama.cpp would refuse a GGUF model whose headers could all be read."""
    if main is None or main.format != "gguf" or not main.files:
        return ()
    if main.kind not in (FileKind.MODEL, FileKind.WEIGHTS):
        return ()
    if any(file.shard is None for file in main.files):
        return ()
    return by_weight(gguf_problems(Evidence(as_checkpoint(main), ())))
