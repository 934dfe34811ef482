"""The judgement of a target as a whole, from what its folders' judgements say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...checkpoints.repo_layout import config_name
from ...core.checkpoint import Checkpoint, Finding
from ...core.wholeness import Problem, ProblemKind, by_weight, is_whole
from ...inspecting.judging.evidence import Evidence
from ...inspecting.judging.files_there import missing_files
from ...inspecting.judging.gguf_loading import is_gguf_model
from .adapters_there import adapters_of, problems_of_adapter
from .target import Copy, Folder, TargetFacts


def judgement_of(facts: TargetFacts) -> tuple[bool | None, tuple[Problem, ...]]:
    """Whether the target's own checkpoint is whole, and its problems: of the parts of a repo of
    several, or of the first folder that holds weights. A file that could not be read at all stops
    every loader."""
    folders = _own(facts)
    problems = [problem for folder in folders for problem in _of_folder(folder)]
    for folder, copy, _ in adapters_of(facts):
        problems += problems_of_adapter(facts, folder, copy)
    known = any(_is_known(folder) for folder in folders)
    return is_whole(problems, known=known), by_weight(problems)


def _own(facts: TargetFacts) -> Sequence[Folder]:
    parts = [folder for folder in facts.folders if folder.declared or folder.between_parts]
    if parts:
        return parts
    return [folder for folder in facts.folders if folder.main is not None][:1]


def _is_known(folder: Folder) -> bool:
    """Whether anything says what should be there: a config, or a GGUF file's own key-values."""
    inspection = folder.judged.inspection
    if inspection is not None:
        return inspection.whole is not None
    main = folder.main
    return main is not None and main.format == "gguf" and is_gguf_model(_evidence(main))


def _evidence(main: Copy) -> Evidence:
    shards = tuple(file.shard for file in main.files if file.shard is not None)
    return Evidence(Checkpoint(main.format, shards, missing=main.missing), ())


def _of_folder(folder: Folder) -> Iterator[Problem]:
    judged = folder.judged
    if judged.inspection is not None:
        yield from judged.inspection.problems
    else:
        yield from judged.gguf_problems
        if folder.main is not None:
            yield from missing_files(_evidence(folder.main))
    yield from folder.between_parts
    if folder.main is not None:
        yield from _unreadable(folder)


def _unreadable(folder: Folder) -> Iterator[Problem]:
    """Files of the copy that loaders take that could not be read, or not as what they should be."""
    main = folder.main
    assert main is not None
    for weight in main.files:
        wrong = weight.refused or next(
            (problem for problem in weight.problems if problem.severity == "error"), None
        )
        if wrong is not None:
            text = wrong.text if isinstance(wrong, Finding) else str(wrong)
            kind: ProblemKind = "not_this_format" if weight.is_other_format else "damaged_file"
            yield Problem(kind, text, file=weight.path, example=weight.path)
    small = (main.index, folder.json.get(config_name(folder.declared)))
    for read in small:
        if read is not None and read.error is not None:
            yield Problem("damaged_file", str(read.error), file=read.path, example=read.path)
