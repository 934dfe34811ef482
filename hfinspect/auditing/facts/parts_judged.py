"""The judgement of a repo of several parts: of all its folders together, as inspecting makes it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ...checkpoints.one_file import Read
from ...checkpoints.repo_layout import (
    MODULES_FILE,
    PIPELINE_FILE,
    config_name,
    declared_folders,
    naming_files,
    settings_path,
)
from ...core.wholeness import Problem
from ...errors import ConfigError
from ...inspecting.judging.parts_declared import PartsEvidence
from ...inspecting.judging.parts_there import problems_of_parts
from ...sources.source import FileEntry


def problems_between(
    base: str,
    files: Mapping[str, FileEntry],
    json_files: Mapping[str, Read[object]],
    complete: bool,
) -> tuple[Problem, ...]:
    """What is wrong with the parts of the repo in the folder ``base`` (empty, or without its slash)
    as a whole; paths are those of the audit. ``complete``: ``files`` are known to be all."""
    start = f"{base}/" if base else ""
    inside = {
        path.removeprefix(start): entry for path, entry in files.items() if path.startswith(start)
    }
    reads = {path: json_files.get(start + path) for path in naming_files(inside)}
    contents = {path: read.value for path, read in reads.items() if read and not read.error}
    naming = next((name for name in (PIPELINE_FILE, MODULES_FILE) if name in contents), None)
    if naming is None or len(contents) < len(reads):
        return ()  # what cannot be read is a finding elsewhere
    declared: dict[str, str] = {}
    with suppress(ConfigError):
        declared = declared_folders(contents)

    def mapping(path: str) -> Mapping[str, Any] | None:
        read = json_files.get(start + path)
        return None if read is None else read.mapping

    configs = {
        part: mapping(f"{part}/{config_name(kind)}".lstrip("/")) for part, kind in declared.items()
    }
    settings = {
        part: mapping(path)
        for part in declared
        if (path := settings_path(inside, part)) is not None
    }
    content = contents[naming]
    class_name = content.get("_class_name") if isinstance(content, Mapping) else None
    evidence = PartsEvidence(
        naming,
        class_name if isinstance(class_name, str) else None,
        declared,
        {part: config for part, config in configs.items() if config is not None},
        inside,
        {part: values for part, values in settings.items() if values is not None},
        complete,
    )
    return tuple(
        replace(problem, file=None if problem.file is None else start + problem.file)
        for problem in problems_of_parts(evidence)
    )
